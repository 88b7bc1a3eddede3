import { randomBytes } from 'node:crypto'
import {
  apply,
  createState,
  encodeRecord,
  encodeState,
  type LogRecord,
} from '@tenure/state-machine'
import { type Log, openLog } from '@tenure/wal'
import type { Held } from './case.js'

const payload = randomBytes(100)
const executionWindowMs = 3_600_000
const retryPolicy = { maxRetries: 3, backoff: { kind: 'fixed', delayMs: 1000 } } as const
const leaseMs = 30_000

const batchRecords = 2000

const waveTasks = 100
/** So many waves that have ended are remembered: memory stays as it is, however long the log. */
const wavesKept = 100

/** So many waiting tasks, as a coordinator leaves them: a checkpoint, and the last few records behind it. */
export async function writeWaiting(
  directory: string,
  tasks: number,
  tailRecords: number,
): Promise<Held> {
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

/** So many records of tasks that are submitted, leased, completed and forgotten, and no checkpoint. */
export async function writeLives(directory: string, records: number): Promise<Held> {
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
 * Without an end, from LSN 1: a hundred tasks at a time are submitted, ninety-nine of them leased and
 * completed, and the hundred from some time ago forgotten. One in a hundred waits for good.
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

function created(taskId: number, at: number): LogRecord {
  return { type: 'TaskCreated', at, taskId, payload, executionWindowMs, retryPolicy }
}

function granted(taskId: number, leaseId: number, at: number): LogRecord {
  const workerId = `w-${taskId % 100}`
  const leaseExpiry = at + leaseMs
  return { type: 'LeaseGranted', at, taskId, leaseId, workerId, attempt: 1, leaseExpiry }
}
