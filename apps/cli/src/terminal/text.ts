import measure from 'fast-string-truncated-width'

const ellipsis = '…'

/** How many columns of a terminal it takes: a Chinese character two, a combining accent none. */
export function widthOf(text: string): number {
  return measure(text).width
}

/** As much of it as so many columns hold, with an ellipsis where something is missing. */
export function cutTo(columns: number, text: string): string {
  const { index, truncated } = measure(text, { limit: columns, ellipsis })
  return truncated ? text.slice(0, index) + ellipsis : text
}
