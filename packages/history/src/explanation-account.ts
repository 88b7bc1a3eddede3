import {
  defaultQueue,
  type RecordOf,
  type RetryPolicy,
  retryDelayMs,
  type TaskState,
} from '@tenure/state-machine'
import {
  type AttemptEnd,
  AttemptTracker,
  type TrackedAttempt,
  type TrackedHeartbeat,
} from './attempts.js'
import type { Entry } from './entry.js'
import type { ExplainedEnd, ExplainOptions, Removed } from './explanation.js'
import type { RememberedAttempt, RememberedTask } from './remembered.js'
import type { TaskHistory, TaskOpening } from './task-history.js'

/** What is known of a task, of records and memory made one. Everything that is told is told from here. */
export interface Account extends ExplainOptions {
  readonly taskId: number
  readonly created?: Created
  readonly entries: readonly Entry[]
  readonly openings: readonly TaskOpening[]
  /** In the order in which they were granted. */
  readonly attempts: readonly KnownAttempt[]
  readonly runs: number
  readonly death?: Death
  readonly state?: TaskState
  readonly removed?: Removed
}

export interface Created {
  readonly at: number
  readonly queue: string
  readonly executionWindowMs: number
  readonly retryPolicy: RetryPolicy
  readonly notBefore?: number
  readonly requestId?: string
  readonly isRemembered: boolean
}

export interface Death {
  readonly at: number
  readonly lsn?: number
  readonly reason: string
}

export interface KnownAttempt {
  readonly attempt?: number
  readonly leaseId: number
  readonly workerId?: string
  readonly grantedAt?: number
  /** As granted, where that record is there. */
  readonly firstExpiry?: number
  /** As last extended. */
  readonly leaseExpiry?: number
  /** Those of which there are records. */
  readonly heartbeats: readonly TrackedHeartbeat[]
  readonly end?: ExplainedEnd
  readonly lateReport?: { readonly lsn?: number; readonly at?: number }
  /** There is no record of its grant. */
  readonly isRemembered: boolean
}

export function keepAccount(history: TaskHistory, options: ExplainOptions): Account {
  const { taskId, entries, openings, remembered, firstLsn } = history
  const created = whenCreated(entries, remembered)
  const death = whenStopped(entries, remembered)
  const attempts = numberFailures(history, attemptsOf(history), created?.retryPolicy)
  const runs = Math.max(attempts.at(-1)?.attempt ?? attempts.length, attempts.length)
  const state = stateOf(attempts, created, death)
  const isWhole = firstLsn <= taskId
  const from = Number.isFinite(firstLsn) ? { firstLsn } : {}
  return {
    ...options,
    ...{ taskId, entries, openings, attempts, runs },
    ...(created !== undefined && { created }),
    ...(death !== undefined && { death }),
    ...(state !== undefined && { state }),
    ...(!isWhole && { removed: { ...from, ...missing(attempts) } }),
  }
}

/** How many attempts there were before those that are known, where that is known. */
function missing(attempts: readonly KnownAttempt[]) {
  if (attempts.length > 0 && attempts.at(-1)!.attempt === undefined) return {}
  return { attempts: (attempts.at(-1)?.attempt ?? 0) - attempts.length }
}

function whenCreated(
  entries: readonly Entry[],
  remembered: RememberedTask | undefined,
): Created | undefined {
  const record = recordOf(entries, 'TaskCreated')
  if (record !== undefined) {
    return { queue: defaultQueue, ...record, isRemembered: false }
  }
  return remembered && { ...remembered, at: remembered.createdAt, isRemembered: true }
}

function whenStopped(
  entries: readonly Entry[],
  remembered: RememberedTask | undefined,
): Death | undefined {
  const record = recordOf(entries, 'TaskDead')
  if (record !== undefined) {
    const { lsn } = entries.find((entry) => entry.record === record)!
    return { at: record.at, lsn, reason: record.reason }
  }
  if (remembered?.state !== 'DEAD') return undefined
  const { stateSince: at, reason = '', endedLsn } = remembered
  return { at, reason, ...(endedLsn !== undefined && { lsn: endedLsn }) }
}

function recordOf<T extends 'TaskCreated' | 'TaskDead'>(
  entries: readonly Entry[],
  type: T,
): RecordOf<T> | undefined {
  return entries.find(({ record }) => record.type === type)?.record as RecordOf<T> | undefined
}

/** Attempts whose grant was removed are put before the tracker as the memory has them. */
function attemptsOf({ taskId, entries, remembered }: TaskHistory): KnownAttempt[] {
  const known = remembered?.attempts.map(({ leaseId }) => leaseId) ?? []
  const granted = new Set(
    entries.flatMap(({ record }) => (record.type === 'LeaseGranted' ? [record.leaseId] : [])),
  )
  const named = entries.flatMap(({ record }) => ('leaseId' in record ? [record.leaseId] : []))
  const unseen = new Set([...known, ...named].filter((leaseId) => !granted.has(leaseId)))
  const tracker = new AttemptTracker()
  for (const leaseId of [...unseen].sort((a, b) => a - b)) {
    tracker.add({ lsn: leaseId, record: placeholder(taskId, leaseId) })
  }
  for (const entry of entries) tracker.add(entry)
  const all = [...tracker.all()]
  return all.map((attempt, index) => {
    const { leaseId } = attempt
    if (!unseen.has(leaseId)) return fromRecords(attempt)
    // Where its end is seen, the next grant is that of the next attempt.
    const next = attempt.end === undefined ? 0 : (all[index + 1]?.attempt ?? 0)
    return fromMemory(attempt, recall(remembered, leaseId), next > 0 ? next - 1 : undefined)
  })
}

function placeholder(taskId: number, leaseId: number): RecordOf<'LeaseGranted'> {
  const unknown = { at: 0, attempt: 0, workerId: '', leaseExpiry: 0 }
  return { type: 'LeaseGranted', taskId, leaseId, ...unknown }
}

function fromRecords(tracked: TrackedAttempt): KnownAttempt {
  const { attempt, leaseId, workerId, grantedAt, heartbeats, leaseExpiry } = tracked
  const { end, lateReport } = tracked
  return {
    ...{ attempt, leaseId, workerId, grantedAt, heartbeats },
    firstExpiry: leaseExpiry,
    leaseExpiry: heartbeats.at(-1)?.newLeaseExpiry ?? leaseExpiry,
    ...(end !== undefined && { end }),
    ...(lateReport !== undefined && { lateReport }),
    isRemembered: false,
  }
}

interface Recalled extends RememberedAttempt {
  /** Of a failure: a task remembers that of its last one. */
  readonly reason?: string
}

function recall(remembered: RememberedTask | undefined, leaseId: number): Recalled | undefined {
  const found = remembered?.attempts.find((attempt) => attempt.leaseId === leaseId)
  if (found === undefined || found !== remembered?.attempts.at(-1)) return found
  const { reason } = remembered
  return found.outcome === 'FAILED' && remembered.state !== 'DEAD' && reason !== undefined
    ? { ...found, reason }
    : found
}

function fromMemory(
  { leaseId, heartbeats, end: seen, lateReport }: TrackedAttempt,
  known: Recalled | undefined,
  number: number | undefined,
): KnownAttempt {
  const attempt = known?.attempt ?? number
  const expiry = heartbeats.at(-1)?.newLeaseExpiry ?? known?.leaseExpiry
  const end = endOf(known, seen)
  const late = lateReport ?? (known?.cancelled ? {} : undefined)
  return {
    ...{ leaseId, heartbeats, isRemembered: true },
    ...(attempt !== undefined && { attempt }),
    ...(known !== undefined && { workerId: known.workerId, grantedAt: known.grantedAt }),
    ...(expiry !== undefined && { leaseExpiry: expiry }),
    ...(end !== undefined && { end }),
    ...(late !== undefined && { lateReport: late }),
  }
}

/** A record tells more, unless it stopped a task whose attempt had ended before. */
function endOf(
  known: Recalled | undefined,
  seen: AttemptEnd | undefined,
): ExplainedEnd | undefined {
  if (known === undefined || known.outcome === 'RUNNING') return seen
  if (known.outcome === seen?.outcome) return seen
  const { outcome, endedAt, reportId, reason } = known
  return {
    ...{ outcome, at: endedAt! },
    ...(reason !== undefined && { reason }),
    ...(reportId !== undefined && { reportId }),
  }
}

/** Failures are counted, and the n-th one decides what comes after it. */
function numberFailures(
  history: TaskHistory,
  attempts: readonly KnownAttempt[],
  policy: RetryPolicy | undefined,
): KnownAttempt[] {
  let failures = failuresBefore(history, attempts)
  return attempts.map((attempt) => {
    if (attempt.end?.outcome !== 'FAILED' || failures === undefined) return attempt
    failures++
    if (policy === undefined) return attempt
    const end = { ...attempt.end, failures }
    if (failures > policy.maxRetries) return { ...attempt, end }
    const backoffMs = retryDelayMs(policy.backoff, failures)
    return { ...attempt, end: { ...end, backoffMs, eligibleAt: end.at + backoffMs } }
  })
}

/** How many there were before all attempts that are known. The memory may be of any moment. */
function failuresBefore(
  { remembered, taskId, firstLsn }: TaskHistory,
  attempts: readonly KnownAttempt[],
): number | undefined {
  if (firstLsn <= taskId) return 0
  if (remembered === undefined) return undefined
  const newest = remembered.attempts.at(-1)
  const isCounted = ({ leaseId, end }: KnownAttempt) =>
    end?.outcome === 'FAILED' &&
    newest !== undefined &&
    (leaseId < newest.leaseId || (leaseId === newest.leaseId && newest.outcome === 'FAILED'))
  return remembered.failures - attempts.filter(isCounted).length
}

function stateOf(
  attempts: readonly KnownAttempt[],
  created: Created | undefined,
  death: Death | undefined,
): TaskState | undefined {
  if (death !== undefined) return 'DEAD'
  const last = attempts.at(-1)
  if (last === undefined) return created && 'WAITING'
  const { end, lateReport } = last
  // Only who has lost its lease reports late, but how it was lost is not there to be read.
  if (end === undefined) return lateReport === undefined ? 'LEASED' : undefined
  switch (end.outcome) {
    case 'EXPIRED':
      return 'WAITING'
    case 'FAILED':
      if (end.failures === undefined || created === undefined) return undefined
      return end.failures <= created.retryPolicy.maxRetries ? 'WAITING' : 'FAILED'
    default:
      return end.outcome
  }
}
