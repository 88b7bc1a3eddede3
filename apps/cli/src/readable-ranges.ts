import type { HistoryDamage } from '@tenure/wal'

interface Range {
  readonly firstLsn: number
  readonly lastLsn: number
}

/** The LSNs of a log without those that went bad in its history. */
export function readableRanges(
  files: Range & { readonly historyDamage: readonly HistoryDamage[] },
): Range[] {
  const ranges: Range[] = []
  let { firstLsn } = files
  for (const { firstMissingLsn, lastMissingLsn } of files.historyDamage) {
    ranges.push({ firstLsn, lastLsn: firstMissingLsn - 1 })
    firstLsn = Math.max(firstLsn, lastMissingLsn + 1)
  }
  return [...ranges, { firstLsn, lastLsn: files.lastLsn }].filter(
    ({ firstLsn, lastLsn }) => firstLsn <= lastLsn,
  )
}

export function showRange({ firstLsn, lastLsn }: Range): string {
  return firstLsn === lastLsn ? `LSN ${firstLsn}` : `LSN ${firstLsn} to ${lastLsn}`
}
