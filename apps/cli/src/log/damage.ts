import { type Host, printable } from '@tenure/app-kit'
import { type Damage, type HistoryDamage, WalDamageError } from '@tenure/wal'

/** The history that cannot be read any more, of what a reader or a check has met; nothing else is lost. */
export function historyDamageOf(error: unknown): HistoryDamage | undefined {
  if (!(error instanceof WalDamageError)) return undefined
  const { damage } = error
  const { coveredBy, lastMissingLsn } = damage
  if (coveredBy === undefined || lastMissingLsn === undefined) return undefined
  return { ...damage, coveredBy, lastMissingLsn }
}

/** Of a stranded segment. */
export const unlinked = 'nothing links it to the rest of the log, so nothing reads it'

/** What is told is good; what is not in it may have happened. */
export function warnOfUnreadable(damage: HistoryDamage | undefined, { stderr }: Host): void {
  if (damage === undefined) return
  const what = 'What happened there is not told here'
  stderr.write(`tenure: ${printable(`${tellUnreadable(damage)}. ${what}.`)}\n`)
}

export function tellUnreadable(damage: HistoryDamage): string {
  const { firstMissingLsn: firstLsn, lastMissingLsn: lastLsn, coveredBy } = damage
  const range = showRange({ firstLsn, lastLsn })
  return `${range} cannot be read (${tellPlace(damage)}); no restart needs them: the checkpoint of LSN ${coveredBy} covers them`
}

export function tellPlace({ file, offset, why }: Damage): string {
  return `${offset === undefined ? file : `${file} at byte ${offset}`}: ${why}`
}

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
