import { encodeRecord, type LogRecord, recordLimits } from '@tenure/state-machine'
import type { Random } from '@tenure/testing'
import { randomBook } from '@tenure/testing-histories'
import { bytes, maybe, text, whole } from './scalars.js'

const { queueBytesMax, requestIdBytesMax, reportIdBytesMax, workerIdBytesMax } = recordLimits
const { reasonBytesMax, timeMsMax, retriesMax } = recordLimits

/** A history that a coordinator could have written, record by record. */
export function historyRecords(random: Random, steps = 60): Uint8Array[] {
  return randomBook(random, steps).entries.map(({ record }) => encodeRecord(record))
}

const small = (random: Random) => 1 + random.integer(30)
const lsn = (random: Random) =>
  random.chance(0.8) ? small(random) : whole(random, 1, Number.MAX_SAFE_INTEGER)
const startMs = Date.UTC(2026, 0, 2, 12)
const time = (random: Random) =>
  random.chance(0.8) ? startMs + random.integer(1000) : whole(random, 0, timeMsMax)

const makers: readonly ((random: Random) => LogRecord)[] = [
  (random) => ({
    type: 'TaskCreated',
    at: time(random),
    taskId: lsn(random),
    payload: bytes(random),
    executionWindowMs: whole(random, 1, timeMsMax),
    retryPolicy: {
      maxRetries: whole(random, 0, retriesMax),
      backoff: random.chance(0.5)
        ? { kind: 'fixed', delayMs: whole(random, 0, timeMsMax) }
        : {
            kind: 'exponential',
            initialMs: whole(random, 0, timeMsMax),
            maxMs: whole(random, 0, timeMsMax),
          },
    },
    ...maybe(random, 'queue', () => text(random, 1, queueBytesMax)),
    ...maybe(random, 'notBefore', () => time(random)),
    ...maybe(random, 'requestId', () => text(random, 1, requestIdBytesMax)),
  }),
  (random) => ({
    type: 'LeaseGranted',
    at: time(random),
    taskId: lsn(random),
    leaseId: lsn(random),
    workerId: text(random, 1, workerIdBytesMax),
    attempt: small(random),
    leaseExpiry: time(random),
  }),
  (random) => ({
    type: 'LeaseExtended',
    at: time(random),
    leaseId: lsn(random),
    newLeaseExpiry: time(random),
  }),
  (random) => ({
    type: 'LeaseExpired',
    at: time(random),
    taskId: lsn(random),
    leaseId: lsn(random),
    atStart: random.chance(0.5),
  }),
  (random) => ({
    type: 'TaskCompleted',
    at: time(random),
    taskId: lsn(random),
    leaseId: lsn(random),
    ...maybe(random, 'reportId', () => text(random, 1, reportIdBytesMax)),
    ...maybe(random, 'result', () => bytes(random)),
  }),
  (random) => ({
    type: 'TaskFailed',
    at: time(random),
    taskId: lsn(random),
    leaseId: lsn(random),
    failureReason: text(random, 0, reasonBytesMax),
    ...maybe(random, 'reportId', () => text(random, 1, reportIdBytesMax)),
  }),
  (random) => ({
    type: 'TaskCancelled',
    at: time(random),
    taskId: lsn(random),
    leaseId: lsn(random),
  }),
  (random) => ({
    type: 'TaskDead',
    at: time(random),
    taskId: lsn(random),
    reason: text(random, 0, reasonBytesMax),
  }),
  (random) => ({ type: 'TasksForgotten', at: time(random), through: lsn(random) }),
]

/** A record by itself, which may not fit the others. */
export function anyRecord(random: Random): LogRecord {
  return random.pick(makers)(random)
}

/** Changes a number in one of the fields; unchanged if the result would not be a record. */
export function withAnotherNumber(random: Random, record: LogRecord): LogRecord {
  const numbers = Object.entries(record).filter(([, value]) => typeof value === 'number')
  const [name, value] = random.pick(numbers) as [string, number]
  const other = random.pick([value + 1, value - 1, 1, value + 1000, lsn(random), time(random)])
  return { ...record, [name]: Math.max(0, other) } as LogRecord
}
