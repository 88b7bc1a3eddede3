/** A moment of a history: after the record with this LSN, or after all events up to this time. */
export type Position = { readonly lsn: number } | { readonly at: number }

/** Whether a record belongs to the history up to the position. */
export function isWithin(position: Position | undefined, lsn: number, at: number): boolean {
  if (position === undefined) return true
  return 'lsn' in position ? lsn <= position.lsn : at <= position.at
}
