import { showTime } from './times.js'

/** Where one stands in a log. */
export function showMoment({ lsn, at }: { readonly lsn: number; readonly at: number }): string {
  return lsn === 0 ? 'the beginning' : `LSN ${lsn}, ${showTime(at)}`
}

interface Range {
  readonly firstLsn: number
  readonly lastLsn: number
}

export function showRange({ firstLsn, lastLsn }: Range): string {
  return firstLsn === lastLsn ? `LSN ${firstLsn}` : `LSN ${firstLsn} to ${lastLsn}`
}
