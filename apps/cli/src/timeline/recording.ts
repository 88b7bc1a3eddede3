import type { TaskHistory as AnswerOfCoordinator } from '@tenure/client'
import type {
  Entry,
  History,
  Opening,
  RememberedAttempt,
  RememberedTask,
  TaskHistory,
} from '@tenure/history'
import { type AttemptTracker, entriesOf, type TrackedAttempt } from '@tenure/history/internal'
import { getTask, type LogRecord, leasedTasks } from '@tenure/state-machine'

/** The records of all tasks or of one, which can be read more than once. */
export interface Recording {
  /** The name for headings. */
  readonly name: string
  /** The first LSN that was not removed. */
  readonly firstLsn: number
  readonly openings: readonly Opening[]
  read(): AsyncIterable<readonly Entry[]>
}

/** A whole log. Tasks that were leased when records were removed come from a checkpoint. */
export async function recordingOfLog(name: string, history: History): Promise<Recording> {
  const { firstLsn, openings } = history
  const remembered = firstLsn > 1 ? await leasedBefore(history) : []
  return {
    name,
    firstLsn,
    openings,
    async *read() {
      if (remembered.length > 0) yield remembered
      yield* history.read()
    },
  }
}

export function recordingOfTask(name: string, history: TaskHistory): Recording {
  const { firstLsn, openings, entries, remembered } = history
  const before = remembered === undefined ? [] : recreateRecords(remembered, firstLsn)
  return {
    name,
    firstLsn,
    openings,
    async *read() {
      yield [...before, ...entries]
    },
  }
}

export function decodeTaskHistory(taskId: number, answer: AnswerOfCoordinator): TaskHistory {
  const { firstLsn, openings } = answer
  const entries = answer.records.flatMap(({ lsn, bytes }) => [
    ...entriesOf({ firstLsn: lsn, records: [bytes] }),
  ])
  return { taskId, firstLsn, openings, entries }
}

async function leasedBefore(history: History): Promise<Entry[]> {
  const state = await history.oldestState()
  if (state === undefined) return []
  return leasedTasks(state).flatMap((taskId) =>
    recreateRecords(getTask(state, taskId)!, history.firstLsn),
  )
}

/** The part of a recording to follow. */
export interface Which {
  readonly lastLsn?: number
  readonly onlyTasks?: ReadonlySet<number> | undefined
}

/** A record with its attempt. */
export interface Step extends Entry {
  readonly attempt: TrackedAttempt | undefined
}

/**
 * Reads a recording record by record. The tracker does not get heartbeats, since it would keep all of
 * them. The caller tells the tracker which attempts to forget.
 */
export async function* follow(
  recording: Recording,
  tracker: AttemptTracker,
  { lastLsn = Number.POSITIVE_INFINITY, onlyTasks }: Which,
): AsyncGenerator<Step> {
  for await (const entries of recording.read()) {
    for (const entry of entries) {
      const { lsn, record } = entry
      if (lsn > lastLsn) return
      if (record.type === 'LeaseExtended') {
        const attempt = tracker.get(record.leaseId)
        if (attempt !== undefined) yield { lsn, record, attempt }
      } else if (record.type === 'TasksForgotten' || onlyTasks?.has(record.taskId) !== false) {
        yield { lsn, record, attempt: tracker.add(entry) }
      }
    }
  }
}

/** Finds the tasks that were leased more than once. */
export async function findRepeatedTasks(
  recording: Recording,
  lastLsn?: number,
): Promise<Set<number>> {
  const twice = new Set<number>()
  for await (const entries of recording.read()) {
    for (const { lsn, record } of entries) {
      if (lastLsn !== undefined && lsn > lastLsn) return twice
      if (record.type === 'LeaseGranted' && record.attempt > 1) twice.add(record.taskId)
    }
  }
  return twice
}

/**
 * Recreates removed records from a remembered task: its submission, its leases and their ends. Heartbeats
 * and reasons are lost.
 */
function recreateRecords(task: RememberedTask, firstLsn: number): Entry[] {
  const { taskId, createdAt, executionWindowMs, retryPolicy, queue, notBefore } = task
  if (taskId >= firstLsn) return []
  const eligible: LogRecord = {
    type: 'TaskCreated',
    at: createdAt,
    taskId,
    payload: new Uint8Array(),
    executionWindowMs,
    retryPolicy,
    queue,
  }
  const created = notBefore === undefined ? eligible : { ...eligible, notBefore }
  const older = task.attempts.filter(({ leaseId }) => leaseId < firstLsn)
  return [
    { lsn: taskId, record: created },
    ...older.flatMap((attempt) => recreateAttempt(taskId, attempt)),
  ]
}

function recreateAttempt(taskId: number, attempt: RememberedAttempt): Entry[] {
  const { leaseId, workerId, grantedAt, endedAt } = attempt
  // If unknown, the remaining records tell when the lease ended.
  const { leaseExpiry = endedAt ?? grantedAt } = attempt
  const granted: LogRecord = {
    type: 'LeaseGranted',
    at: grantedAt,
    taskId,
    leaseId,
    workerId,
    leaseExpiry,
    attempt: attempt.attempt,
  }
  const end = endedAt === undefined ? undefined : endOf(taskId, attempt, endedAt)
  return [
    { lsn: leaseId, record: granted },
    // The LSN of the end is not remembered.
    ...(end === undefined ? [] : [{ lsn: unknownLsn, record: end }]),
  ]
}

export const unknownLsn = 0

function endOf(
  taskId: number,
  { leaseId, outcome }: RememberedAttempt,
  at: number,
): LogRecord | undefined {
  switch (outcome) {
    case 'COMPLETED':
      return { type: 'TaskCompleted', at, taskId, leaseId }
    case 'FAILED':
      return { type: 'TaskFailed', at, taskId, leaseId, failureReason: '' }
    case 'EXPIRED':
      return { type: 'LeaseExpired', at, taskId, leaseId, atStart: false }
    case 'DEAD':
      return { type: 'TaskDead', at, taskId, reason: '' }
    case 'OPEN':
      return undefined
  }
}
