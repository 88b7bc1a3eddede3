/** A moment of a history: after the record with this LSN, or after everything that had happened at this time. */
export type Position = { readonly lsn: number } | { readonly at: number }

/** Whether a record still belongs to the history up to there. */
export function isWithin(position: Position | undefined, lsn: number, at: number): boolean {
  if (position === undefined) return true
  return 'lsn' in position ? lsn <= position.lsn : at <= position.at
}
