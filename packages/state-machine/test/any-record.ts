import { type LogRecord, recordLimits } from '@tenure/state-machine'
import { character } from '@tenure/testing'
import fc from 'fast-check'

const { queueBytesMax, requestIdBytesMax, reportIdBytesMax, workerIdBytesMax } = recordLimits
const { reasonBytesMax, timeMsMax, retriesMax } = recordLimits

/** Values at which a number needs one more byte, and their neighbours. */
const edges = [0, 1, 127, 128, 255, 256, 65_535, 65_536, 2 ** 32 - 1, 2 ** 32, 2 ** 32 + 1, 2 ** 40]

function whole(min: number, max: number): fc.Arbitrary<number> {
  const inside = [...edges, min, max].filter((edge) => edge >= min && edge <= max)
  return fc.oneof(fc.constantFrom(...inside), fc.integer({ min, max }))
}

/** Texts of every relevant length. Some start with a byte order mark. */
function text(min: number, max: number): fc.Arbitrary<string> {
  const lengths = [min, 15, 16, 31, 32, 33, 61, 62, 63, 64, 65, 127, 128, 255, 256, 257, max]
  const length = fc.constantFrom(...lengths.filter((length) => length >= min && length <= max))
  const unit = fc.constantFrom('a', 'a', 'a', 'é', '☂', '💥', '\0')
  const long = fc
    .tuple(fc.constantFrom('', '\ufeff'), unit, length)
    .map(([mark, unit, length]) => cut(mark + unit.repeat(length), max))
  const random = fc
    .string({ unit: character, maxLength: Math.min(max, 200) })
    .map((text) => cut(text, max))
  return fc.oneof(long, random).filter((text) => text.length >= min)
}

/** The longest prefix of whole characters that fits. */
export function cut(text: string, bytesMax: number): string {
  let fitting = ''
  let bytes = 0
  for (const character of text) {
    bytes += Buffer.byteLength(character)
    if (bytes > bytesMax) break
    fitting += character
  }
  return fitting
}

const lsn = whole(1, Number.MAX_SAFE_INTEGER)
const time = whole(0, timeMsMax)
const bytes = fc
  .tuple(fc.constantFrom(0, 1, 31, 32, 255, 256, 300, 65_535, 65_536), fc.nat(255))
  .map(([length, value]) => Buffer.alloc(length, value))
const at = time

function plain<T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> {
  return fc.record<T>(model, { noNullPrototype: true }) as fc.Arbitrary<T>
}

const backoff = fc.oneof(
  plain({ kind: fc.constant('fixed' as const), delayMs: time }),
  plain({ kind: fc.constant('exponential' as const), initialMs: time, maxMs: time }),
)

/** A record of any type, with field values of every size. */
export const anyRecord = fc.oneof(
  fc.record(
    {
      type: fc.constant('TaskCreated'),
      at,
      taskId: lsn,
      payload: bytes,
      executionWindowMs: whole(1, timeMsMax),
      retryPolicy: plain({ maxRetries: whole(0, retriesMax), backoff }),
      queue: text(1, queueBytesMax),
      notBefore: time,
      requestId: text(1, requestIdBytesMax),
    },
    {
      requiredKeys: ['type', 'at', 'taskId', 'payload', 'executionWindowMs', 'retryPolicy'],
      noNullPrototype: true,
    },
  ),
  plain({
    type: fc.constant('LeaseGranted'),
    at,
    taskId: lsn,
    leaseId: lsn,
    workerId: text(1, workerIdBytesMax),
    attempt: whole(1, 2 ** 32 - 1),
    leaseExpiry: time,
  }),
  plain({ type: fc.constant('LeaseExtended'), at, leaseId: lsn, newLeaseExpiry: time }),
  plain({
    type: fc.constant('LeaseExpired'),
    at,
    taskId: lsn,
    leaseId: lsn,
    atStart: fc.boolean(),
  }),
  fc.record(
    {
      type: fc.constant('TaskCompleted'),
      at,
      taskId: lsn,
      leaseId: lsn,
      reportId: text(1, reportIdBytesMax),
      result: bytes,
    },
    { requiredKeys: ['type', 'at', 'taskId', 'leaseId'], noNullPrototype: true },
  ),
  fc.record(
    {
      type: fc.constant('TaskFailed'),
      at,
      taskId: lsn,
      leaseId: lsn,
      failureReason: text(0, reasonBytesMax),
      reportId: text(1, reportIdBytesMax),
    },
    { requiredKeys: ['type', 'at', 'taskId', 'leaseId', 'failureReason'], noNullPrototype: true },
  ),
  plain({ type: fc.constant('TaskCancelled'), at, taskId: lsn, leaseId: lsn }),
  plain({ type: fc.constant('TaskDead'), at, taskId: lsn, reason: text(0, reasonBytesMax) }),
  plain({ type: fc.constant('TasksForgotten'), at, through: lsn }),
) as unknown as fc.Arbitrary<LogRecord>
