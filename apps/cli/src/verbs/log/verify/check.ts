import { type HistoryVerification, verifyHistory } from '@tenure/history'
import { openReadOnly, type Verification, verifyLog, WalDamageError } from '@tenure/wal'
import { describePlace, describeUnreadable, unlinked } from '../../../log/damage.js'
import { sourceFrom } from '../../../log/skip-damage.js'

/** The result of checking a whole log. */
export interface LogCheck {
  readonly files: Verification
  /** Absent if damage makes the records unreachable. */
  readonly records?: HistoryVerification | undefined
  readonly verdict: Verdict
  /** The faults, most important first. */
  readonly findings: readonly string[]
  readonly recordsPerSecond: number
}

/** `broken`: the bytes are intact, but a record breaks a rule. */
export type Verdict = 'good' | 'damaged' | 'broken'

/** The coordinator may remove records during the check, which then starts again. */
const attemptsMax = 5

export async function checkLog(
  directory: string,
  onProgress: (lsn: number, lastLsn: number) => void = () => {},
): Promise<LogCheck> {
  const files = await verifyLog(directory)
  const began = performance.now()
  // Start after unreadable history, which is reported already; a checkpoint covers it.
  const fromLsn = (files.historyDamage.at(-1)?.lastMissingLsn ?? 0) + 1
  const records = await checkRecords(directory, fromLsn, (lsn) => onProgress(lsn, files.lastLsn))
  const seconds = (performance.now() - began) / 1000
  const damage = damageOf(files, records)
  const breaches = breachesOf(records)
  const count = (records?.applied ?? 0) + (records?.onlyRead ?? 0)
  return {
    files,
    records,
    verdict: damage.length > 0 ? 'damaged' : breaches.length > 0 ? 'broken' : 'good',
    findings: [...damage, ...breaches],
    recordsPerSecond: Math.round(count / seconds),
  }
}

async function checkRecords(
  directory: string,
  fromLsn: number,
  onProgress: (lsn: number) => void,
): Promise<HistoryVerification | undefined> {
  for (let attempt = 1; ; attempt++) {
    try {
      const source = sourceFrom(await openReadOnly(directory), fromLsn)
      return await verifyHistory(source, { onProgress })
    } catch (error) {
      if (error instanceof WalDamageError) return undefined
      const isOvertaken =
        error instanceof Error && 'code' in error && error.code === 'WAL_FORGOTTEN'
      if (!isOvertaken || attempt === attemptsMax) throw error
    }
  }
}

function damageOf(files: Verification, records: HistoryVerification | undefined): string[] {
  const { damage, historyDamage, badCheckpoints, strandedSegments } = files
  const fault = records?.fault
  return [
    ...(damage === undefined ? [] : [describePlace(damage)]),
    ...historyDamage.map(describeUnreadable),
    ...badCheckpoints.map(({ why }) => why),
    ...strandedSegments.map((name) => `wal/${name}: ${unlinked}`),
    ...(damage === undefined && fault instanceof WalDamageError ? [fault.message] : []),
  ]
}

function breachesOf(records: HistoryVerification | undefined): string[] {
  if (records === undefined) return []
  const { fault, checkpoints } = records
  const different = checkpoints.filter(({ verdict }) => verdict === 'different')
  return [
    ...(fault === undefined || fault instanceof WalDamageError ? [] : [fault.message]),
    ...different.map(
      ({ lsn, why }) => `the checkpoint at LSN ${lsn} differs from the replayed state: ${why}`,
    ),
  ]
}
