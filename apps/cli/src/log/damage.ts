import { type Host, printable } from '@tenure/app-kit'
import { type Damage, type HistoryDamage, WalDamageError } from '@tenure/wal'
import { showRange } from '../readable-ranges.js'

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
