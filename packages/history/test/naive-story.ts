import type { LogRecord } from '@tenure/state-machine'
import type { Entry } from '../src/index.js'

/** One attempt, read from the records slowly and without shared code. */
export interface NaiveAttempt {
  readonly attempt: number
  readonly leaseId: number
  readonly workerId: string
  readonly grantedAt: number
  readonly waitedMs: number
  readonly leaseExpiry: number
  readonly beats: number
  readonly lastBeatAt: number | undefined
  readonly margin: number | undefined
  readonly silence: number | undefined
  readonly end: { readonly lsn: number; readonly record: LogRecord } | undefined
  readonly lateAt: number | undefined
  readonly window: number
}

export function readAttempts(entries: readonly Entry[], taskId: number): NaiveAttempt[] {
  const created = entries.find(({ lsn }) => lsn === taskId)!.record as Of<'TaskCreated'>
  const grants = entries.filter(({ record }) => {
    return record.type === 'LeaseGranted' && record.taskId === taskId
  })
  return grants.map(({ lsn, record }, index) => {
    const grant = record as Of<'LeaseGranted'>
    const before = grants[index - 1]
    const beats = entries.flatMap(({ record }) => {
      return record.type === 'LeaseExtended' && record.leaseId === lsn ? [record] : []
    })
    const end = endOf(entries, taskId, lsn)
    const expiries = [grant.leaseExpiry, ...beats.map((beat) => beat.newLeaseExpiry)]
    const times = [grant.at, ...beats.map(({ at }) => at)]
    if (end !== undefined) times.push(Math.min(end.record.at, expiries.at(-1)!))
    const gaps = times.slice(1).map((at, place) => at - times[place]!)
    const cancel = entries.find(({ record }) => {
      return record.type === 'TaskCancelled' && record.leaseId === lsn
    })
    const margins = beats.map(({ at }, place) => expiries[place]! - at)
    return {
      attempt: index + 1,
      leaseId: lsn,
      workerId: grant.workerId,
      grantedAt: grant.at,
      waitedMs: grant.at - eligibleAt(entries, created, before?.lsn),
      leaseExpiry: expiries.at(-1)!,
      beats: beats.length,
      lastBeatAt: beats.at(-1)?.at,
      margin: margins.length === 0 ? undefined : Math.min(...margins),
      silence: gaps.length === 0 ? undefined : Math.max(...gaps),
      end,
      lateAt: cancel?.record.at,
      window: created.executionWindowMs,
    }
  })
}

type Of<T extends LogRecord['type']> = Extract<LogRecord, { type: T }>

function endOf(entries: readonly Entry[], taskId: number, leaseId: number): Entry | undefined {
  const later = entries.filter(({ lsn }) => lsn > leaseId)
  const own = later.find(({ record }) => {
    return (
      /Expired|Completed|Failed/.test(record.type) &&
      (record as { leaseId?: number }).leaseId === leaseId
    )
  })
  if (own !== undefined) return own
  return later.find(({ record }) => record.type === 'TaskDead' && record.taskId === taskId)
}

function eligibleAt(
  entries: readonly Entry[],
  created: Of<'TaskCreated'>,
  before: number | undefined,
): number {
  if (before === undefined) return Math.max(created.at, created.notBefore ?? 0)
  const { lsn, record } = endOf(entries, created.taskId, before)!
  if (record.type !== 'TaskFailed') return record.at
  const failures = entries.filter((entry) => {
    return (
      entry.record.type === 'TaskFailed' &&
      entry.record.taskId === created.taskId &&
      entry.lsn <= lsn
    )
  }).length
  const { backoff } = created.retryPolicy
  if (backoff.kind === 'fixed') return record.at + backoff.delayMs
  let delay = backoff.initialMs
  for (let doubled = 1; doubled < failures; doubled++) delay *= 2
  return record.at + Math.min(delay, backoff.maxMs)
}

/** Whether two attempts lasted at the same time, and from when to when. */
export function readOverlaps(attempts: readonly NaiveAttempt[]) {
  const found: {
    leaseIds: number[]
    fromAt: number
    untilAt?: number
    ms?: number
    certain: boolean
  }[] = []
  for (const earlier of attempts) {
    if (earlier.end?.record.type !== 'LeaseExpired') continue
    for (const later of attempts) {
      if (later.attempt <= earlier.attempt) continue
      const leaseIds = [earlier.leaseId, later.leaseId]
      const fromAt = later.grantedAt
      if (earlier.lateAt === undefined) {
        if (later.attempt === earlier.attempt + 1) found.push({ leaseIds, fromAt, certain: false })
        continue
      }
      const lasted = Math.max(later.end?.record.at ?? earlier.lateAt, later.lateAt ?? 0)
      const untilAt = Math.min(earlier.lateAt, lasted)
      if (untilAt > fromAt)
        found.push({ leaseIds, fromAt, untilAt, ms: untilAt - fromAt, certain: true })
    }
  }
  return found
}
