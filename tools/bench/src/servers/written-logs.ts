import { randomBytes } from 'node:crypto'
import {
  apply,
  createState,
  encodeRecord,
  encodeState,
  type LogRecord,
} from '@tenure/state-machine'
import { type Log, openLog } from '@tenure/wal'

const bytes = randomBytes(100)
const fewBytes = bytes.subarray(0, 64)
const executionWindowMs = 3_600_000
const retryPolicy = { maxRetries: 3, backoff: { kind: 'fixed', delayMs: 1000 } } as const
const leaseMs = 30_000

const batchRecords = 2000

const waveTasks = 100
/** Number of ended waves to remember: memory stays the same for a log of any length. */
const wavesKept = 100

/** The contents of a log: its tasks, and the number of records that wrote them. */
export interface LogContents {
  readonly liveTasks: number
  readonly records: number
}

/**
 * Writes this many waiting tasks as a coordinator leaves them: a checkpoint, followed by a few
 * records.
 */
export async function writeWaiting(
  directory: string,
  tasks: number,
  tailRecords: number,
): Promise<LogContents> {
  const log = await openLog(directory, { sync: 'none' })
  const state = createState()
  const at = Date.now() - tasks
  const waiting = Array.from({ length: tasks }, (_, index) => created(index + 1, at + index))
  const covered = waiting.slice(0, tasks - tailRecords)
  await append(log, covered)
  for (const [index, record] of covered.entries()) apply(state, index + 1, record)
  await log.roll()
  await log.writeCheckpoint(log.sealedLsn, encodeState(state))
  await append(log, waiting.slice(covered.length))
  await log.close()
  return { liveTasks: tasks, records: tasks }
}

/**
 * Writes this many records of tasks that are submitted, leased, completed and forgotten, and no
 * checkpoint.
 */
export async function writeLives(directory: string, records: number): Promise<LogContents> {
  const log = await openLog(directory, { sync: 'none' })
  let liveTasks = 0
  await append(log, counted())
  await log.close()
  return { liveTasks, records }

  function* counted(): Generator<LogRecord> {
    let left = records
    for (const record of lives(Date.now() - records)) {
      if (left-- === 0) return
      if (record.type === 'TaskCreated') liveTasks++
      if (record.type === 'TaskCompleted') liveTasks--
      yield record
    }
  }
}

async function append(log: Log, records: Iterable<LogRecord>): Promise<void> {
  let batch: Uint8Array[] = []
  for (const record of records) {
    batch.push(encodeRecord(record))
    if (batch.length < batchRecords) continue
    await log.append(log.nextLsn, batch)
    batch = []
  }
  if (batch.length > 0) await log.append(log.nextLsn, batch)
}

/**
 * An endless log from LSN 1. Each step submits a hundred tasks, leases and completes ninety-nine of
 * them, and forgets the hundred of an earlier step. One task in a hundred waits until the end.
 */
function* lives(startAt: number): Generator<LogRecord> {
  let lsn = 0
  const ends: number[] = []
  for (;;) {
    const taskIds: number[] = []
    const leaseIds: number[] = []
    for (let task = 0; task < waveTasks; task++) {
      taskIds.push(++lsn)
      yield created(lsn, startAt + lsn)
    }
    for (const taskId of taskIds.slice(1)) {
      leaseIds.push(++lsn)
      yield granted(taskId, lsn, startAt + lsn)
    }
    for (const [index, leaseId] of leaseIds.entries()) {
      const at = startAt + ++lsn
      yield { type: 'TaskCompleted', at, taskId: taskIds[index + 1]!, leaseId }
    }
    ends.push(lsn)
    if (ends.length <= wavesKept) continue
    yield { type: 'TasksForgotten', at: startAt + ++lsn, through: ends.shift()! }
  }
}

function created(taskId: number, at: number, payload = bytes): LogRecord {
  return { type: 'TaskCreated', at, taskId, payload, executionWindowMs, retryPolicy }
}

function granted(
  taskId: number,
  leaseId: number,
  at: number,
  attempt = 1,
  ms = leaseMs,
): LogRecord {
  const workerId = `w-${taskId % 100}`
  const leaseExpiry = at + ms
  return { type: 'LeaseGranted', at, taskId, leaseId, workerId, attempt, leaseExpiry }
}

/**
 * The first task of a long log. It runs again only at the end, so that explaining it needs the
 * whole log.
 */
export const explainedTask = 1

/**
 * Writes this many records: tasks that are submitted, leased, extended and completed, four records
 * each.
 */
export async function writeLongLog(directory: string, records: number): Promise<void> {
  const log = await openLog(directory, { sync: 'none' })
  await append(log, longLives(Date.now(), records))
  await log.close()
}

function* longLives(startAt: number, last: number): Generator<LogRecord> {
  for (let lsn = 1; lsn <= last; lsn++) {
    const at = startAt + lsn
    yield recordOfExplained(lsn, at, last) ?? recordOfOthers(lsn, at)
  }
}

function recordOfOthers(lsn: number, at: number): LogRecord {
  const taskId = lsn - (lsn % 4)
  const leaseId = taskId + 1
  if (lsn === taskId) return created(taskId, at, fewBytes)
  if (lsn === leaseId) return granted(taskId, leaseId, at)
  if (lsn === taskId + 3) return { type: 'TaskCompleted', at, taskId, leaseId }
  return { type: 'LeaseExtended', at, leaseId, newLeaseExpiry: at + leaseMs }
}

/** The records of the explained task: the first three and the last two of the log. */
function recordOfExplained(lsn: number, at: number, last: number): LogRecord | undefined {
  const taskId = explainedTask
  switch (lsn) {
    case 1:
      return created(taskId, at, fewBytes)
    case 2:
      return granted(taskId, lsn, at, 1, 1)
    case 3:
      return { type: 'LeaseExpired', at, taskId, leaseId: 2, atStart: false }
    case last - 1:
      return granted(taskId, lsn, at, 2)
    case last:
      return { type: 'TaskCompleted', at, taskId, leaseId: lsn - 1 }
    default:
      return undefined
  }
}
