const grouped = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })

/** `1,234,567`. */
export function showCount(count: number): string {
  return grouped.format(count)
}

/** `1 task`, `2 tasks`. */
export function countOf(count: number, one: string, many = `${one}s`): string {
  return `${showCount(count)} ${count === 1 ? one : many}`
}

/** So many in a second; of few the fraction matters. */
export function showRate(count: number, ms: number): string {
  const rate = ms > 0 ? (count * 1000) / ms : 0
  return `${rate > 0 && rate < 10 ? rate.toFixed(1) : showCount(rate)}/s`
}

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const

/** Bytes, to three figures or so. */
export function showSize(bytes: number): string {
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10))
  const amount = bytes / 1024 ** power
  return `${power === 0 ? amount : amount.toFixed(1)} ${units[power]}`
}
