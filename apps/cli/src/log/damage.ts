import { type Host, printable } from '@tenure/app-kit'
import { type Damage, type HistoryDamage, WalDamageError } from '@tenure/wal'

/** Returns the damage if it lies in history that a checkpoint covers: only that history is lost. */
export function historyDamageOf(error: unknown): HistoryDamage | undefined {
  if (!(error instanceof WalDamageError)) return undefined
  const { damage } = error
  const { coveredBy, lastMissingLsn } = damage
  if (coveredBy === undefined || lastMissingLsn === undefined) return undefined
  return { ...damage, coveredBy, lastMissingLsn }
}

/** Describes a stranded segment. */
export const unlinked = 'not linked to the rest of the log, so it is never read'

/** The output is correct but incomplete. */
export function warnOfUnreadable(damage: HistoryDamage | undefined, { stderr }: Host): void {
  if (damage === undefined) return
  const what = 'Events in this range are missing from the output'
  stderr.write(`tenure: ${printable(`${describeUnreadable(damage)}. ${what}.`)}\n`)
}

export function describeUnreadable(damage: HistoryDamage): string {
  const { firstMissingLsn: firstLsn, lastMissingLsn: lastLsn, coveredBy } = damage
  const range = showRange({ firstLsn, lastLsn })
  return `${range} cannot be read (${describePlace(damage)}); restarts do not need this range, which the checkpoint at LSN ${coveredBy} covers`
}

export function describePlace({ file, offset, why }: Damage): string {
  return `${offset === undefined ? file : `${file} at byte ${offset}`}: ${why}`
}

interface Range {
  readonly firstLsn: number
  readonly lastLsn: number
}

/** The LSN ranges of a log without its damaged history. */
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
