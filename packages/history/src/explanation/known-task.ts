import type { RetryPolicy } from '@tenure/options'
import { defaultQueue, type RecordOf, type TaskState } from '@tenure/state-machine'
import type { Entry } from '../follow/entry.js'
import type { LsnRange } from '../follow/log-source.js'
import type { RememberedTask } from '../task/remembered.js'
import type { TaskHistory, TaskOpening } from '../task/task-history.js'
import type { ExplainOptions, Removed } from './explanation.js'
import { numberFailures } from './failures.js'
import { type KnownAttempt, knownAttempts } from './known-attempts.js'

/** All known facts about a task, merged from records and memory. Every explanation is derived from it. */
export interface KnownTask extends ExplainOptions {
  readonly taskId: number
  readonly created: Created | undefined
  readonly entries: readonly Entry[]
  readonly openings: readonly TaskOpening[]
  /** In the order of their grants. */
  readonly attempts: readonly KnownAttempt[]
  readonly runs: number
  readonly death: Death | undefined
  readonly state: TaskState | undefined
  readonly removed: Removed | undefined
  readonly gaps: readonly LsnRange[]
}

interface Created {
  readonly at: number
  readonly queue: string
  readonly executionWindowMs: number
  readonly retryPolicy: RetryPolicy
  readonly notBefore?: number
  readonly requestId?: string
  readonly isRemembered: boolean
}

interface Death {
  readonly at: number
  readonly lsn: number | undefined
  readonly reason: string
}

export function toKnownTask(history: TaskHistory, options: ExplainOptions): KnownTask {
  const { taskId, entries, openings, remembered, firstLsn, gaps = [] } = history
  const created = whenCreated(entries, remembered)
  const death = whenStopped(entries, remembered)
  const attempts = numberFailures(history, knownAttempts(history), created?.retryPolicy)
  const runs = Math.max(attempts.at(-1)?.attempt ?? attempts.length, attempts.length)
  const state = stateOf(attempts, created, death)
  const isWhole = firstLsn <= taskId
  const from = Number.isFinite(firstLsn) ? { firstLsn } : {}
  return {
    ...options,
    taskId,
    entries,
    openings,
    attempts,
    runs,
    gaps,
    created,
    death,
    state,
    removed: isWhole ? undefined : { ...from, ...missing(attempts) },
  }
}

/** How many attempts precede the known ones, if that is known. */
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
  return { at, reason, lsn: endedLsn }
}

function recordOf<T extends 'TaskCreated' | 'TaskDead'>(
  entries: readonly Entry[],
  type: T,
): RecordOf<T> | undefined {
  return entries.find(({ record }) => record.type === type)?.record as RecordOf<T> | undefined
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
  // Only a worker that has lost its lease reports late, but the record of the loss was removed.
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
