export interface Extent {
  readonly left: number
  readonly right: number
}

/**
 * The row of each extent: the first one where there is room, so that none covers another. `undefined`
 * for those for which there are not enough rows.
 */
export function pack(extents: readonly Extent[], rowsMax: number): (number | undefined)[] {
  const ends: number[] = []
  return extents.map(({ left, right }) => {
    const free = ends.findIndex((end) => end <= left)
    const row = free === -1 ? ends.length : free
    if (row >= rowsMax) return undefined
    ends[row] = right
    return row
  })
}
