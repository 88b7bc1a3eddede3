import {
  type Answer,
  type AnswerKind,
  type Hello,
  type LeaseTerms,
  messageLimits as limits,
  protocolVersion,
  type Reason,
  type Request,
  type RequestKind,
  reasons,
  roles,
  taskStates,
  type Welcome,
} from '@tenure/protocol'
import { character } from '@tenure/testing'
import fc, { type Arbitrary } from 'fast-check'

/** Generators for every message: optional fields are present or absent, and every limit is reached. */
const most = Number.MAX_SAFE_INTEGER

/** Small numbers, large ones, and those at which MessagePack changes the form. */
function whole(min: number, max: number): Arbitrary<number> {
  const edges = [0, 127, 128, 255, 256, 65_535, 65_536, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 40]
  return fc.oneof(
    fc.maxSafeNat().map((value) => min + (value % (max - min + 1))),
    fc.constantFrom(min, max, ...edges.filter((edge) => edge >= min && edge <= max)),
  )
}

/** A byte order mark and an apparent escape sequence are ordinary parts of a string. */
function text(min: number, max: number): Arbitrary<string> {
  const fits = (value: string) => value.length >= min && Buffer.byteLength(value) <= max
  const edges = ['a'.repeat(min), 'a'.repeat(max), '€'.repeat(Math.floor(max / 3)), '\ufeffx', '😀']
  return fc.oneof(
    fc.string({ unit: character, minLength: min, maxLength: max }).filter(fits),
    fc.constantFrom(...edges.filter(fits)),
  )
}

const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 40 }),
  fc.constantFrom(Buffer.from('pooled'), new Uint8Array(256).fill(7), new Uint8Array(70_000)),
)

const id = whole(1, 2 ** 32 - 1)
const lsn = whole(1, most)
const duration = whole(0, limits.durationMsMax)
const queue = text(1, limits.queueBytesMax)
const reason = text(0, limits.reasonBytesMax)
const reportId = text(1, limits.reportIdBytesMax)
const word: Arbitrary<Reason> = fc.constantFrom(...(Object.keys(reasons) as Reason[]))

const backoff = fc.oneof(
  fc.record({ kind: fc.constant('fixed' as const), delayMs: duration }),
  fc.record({ kind: fc.constant('exponential' as const), initialMs: duration, maxMs: duration }),
)

const submitOptions = {
  queue,
  requestId: text(1, limits.requestIdBytesMax),
  executionWindowMs: whole(1, limits.durationMsMax),
  retryPolicy: fc.record({ maxRetries: whole(0, 2 ** 31 - 1), backoff }),
}

/** The start time: none, a time, or a delay. */
const eligible = fc.oneof(
  fc.constant({}),
  fc.record({ notBefore: whole(0, limits.timeMsMax) }),
  fc.record({ delayMs: duration }),
)

/**
 * A message of one kind with required and optional fields. Every combination of optional fields is equally
 * likely, so that a hundred messages cover all of them.
 */
function message<K extends string>(
  kind: K,
  always: { [name: string]: Arbitrary<unknown> } = {},
  maybe: { [name: string]: Arbitrary<unknown> } = {},
): Arbitrary<{ kind: K; id: number }> {
  const options = Object.entries(maybe)
  const combinations = Array.from({ length: 2 ** options.length }, (_, chosen) =>
    fc.record(
      {
        kind: fc.constant(kind),
        id,
        ...always,
        ...Object.fromEntries(options.filter((_, index) => chosen & (1 << index))),
      },
      { noNullPrototype: true },
    ),
  )
  return fc.oneof(...combinations) as Arbitrary<{ kind: K; id: number }>
}

/** The optional parts of a history cursor. */
const placeOptions = { leaseId: lsn, retriesLeft: whole(0, 2 ** 31 - 1), endedLsn: lsn }

export const requestsByKind = {
  submit: fc
    .tuple(message('submit', { payload: bytes }, submitOptions), eligible)
    .map(([request, when]) => ({ ...request, ...when })),
  lease: message('lease', {
    queues: fc.array(queue, { minLength: 1, maxLength: limits.queuesMax, size: 'max' }),
    waitMs: duration,
  }),
  heartbeat: message('heartbeat', { taskId: lsn, leaseId: lsn }),
  complete: message('complete', { taskId: lsn, leaseId: lsn }, { reportId, result: bytes }),
  fail: message('fail', { taskId: lsn, leaseId: lsn, reason }, { reportId }),
  kill: message('kill', { taskId: lsn, reason }),
  get: message('get', { taskId: lsn }),
  list: message(
    'list',
    { fromTaskId: lsn, limit: whole(1, limits.listMax) },
    { state: fc.constantFrom(...taskStates), queue },
  ),
  workers: message('workers'),
  stats: message('stats'),
  ping: message('ping'),
  withdraw: message('withdraw', { of: id }),
  why: message('why', { taskId: lsn }),
  checkpoint: message('checkpoint'),
  history: message('history', { taskId: lsn, fromLsn: lsn }, placeOptions),
} satisfies { [K in RequestKind]: Arbitrary<unknown> }

export const requests = fc.oneof(...Object.values(requestsByKind)) as Arbitrary<Request>

const name = fc.string({ unit: character, maxLength: 30 }).filter((key) => key !== '__proto__')
const fact = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(null, true, false),
    whole(0, most),
    text(0, 100),
    bytes,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(name, tie('value'), { maxKeys: 3, noNullPrototype: true }),
  ),
})).value
const facts = fc.dictionary(name, fact, { maxKeys: 6, noNullPrototype: true }).filter(isShallow)

/** The guard's own test covers the depth limit. */
function isShallow(value: unknown, left: number = limits.depthMax - 3): boolean {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return true
  return left > 0 && Object.values(value).every((own) => isShallow(own, left - 1))
}

const terms: { [K in keyof LeaseTerms]: Arbitrary<number> } = {
  leaseExpiry: whole(0, most),
  windowEnd: whole(0, most),
  heldMs: whole(0, most),
  leaseMs: whole(0, most),
  windowMs: whole(0, most),
}
const granted = { taskId: lsn, leaseId: lsn, attempt: lsn, queue, payload: bytes }

export const answersByKind = {
  submitted: message('submitted', { taskId: lsn, known: fc.boolean() }),
  leased: message('leased', { ...granted, ...terms }),
  empty: message('empty'),
  extended: message('extended', terms),
  committed: message(
    'committed',
    { state: text(1, 16) },
    { eligibleAt: whole(0, 2 * limits.timeMsMax) },
  ),
  cancelled: message('cancelled', { reason: word }, { supersededBy: lsn }),
  rejected: message(
    'rejected',
    { reason: word, message: reason },
    { retryAfterMs: whole(0, limits.timeMsMax), active: text(1, limits.endpointBytesMax) },
  ),
  killed: message('killed', { known: fc.boolean() }),
  task: message('task', { task: facts }),
  tasks: message('tasks', { tasks: fc.array(facts, { maxLength: 4 }) }, { nextTaskId: lsn }),
  workers: message('workers', {
    workers: fc.array(facts, { maxLength: 4 }),
    leftOut: whole(0, most),
  }),
  stats: message('stats', { stats: facts }),
  pong: message('pong'),
  withdrawn: message('withdrawn'),
  why: message('why', { why: facts }),
  checkpointed: message('checkpointed', { checkpoint: facts }),
  history: message(
    'history',
    {
      firstLsn: lsn,
      records: fc.array(fc.record({ lsn, bytes }), { maxLength: 4 }),
      openings: fc.array(fc.record({ epoch: lsn, firstLsn: lsn, at: whole(0, most) }), {
        maxLength: 4,
      }),
    },
    {
      next: fc.record(
        { fromLsn: lsn, ...placeOptions },
        { requiredKeys: ['fromLsn'], noNullPrototype: true },
      ),
    },
  ),
} satisfies { [K in AnswerKind]: Arbitrary<unknown> }

export const answers = fc.oneof(...Object.values(answersByKind)) as Arbitrary<Answer>

export const hellos = fc.record(
  {
    version: fc.constant(protocolVersion),
    role: fc.constantFrom(...roles),
    name: text(1, limits.workerIdBytesMax),
    token: text(1, limits.tokenBytesMax),
    capacity: whole(0, 1_000_000),
  },
  { requiredKeys: ['version', 'role', 'name', 'capacity'], noNullPrototype: true },
) as Arbitrary<Hello>

const knob = whole(0, most)

export const welcomes: Arbitrary<Welcome> = fc.record({
  version: whole(1, 0xffff),
  epoch: whole(0, most),
  leaseDurationMs: whole(1, most),
  heartbeatIntervalMs: whole(1, most),
  syncMode: text(1, 16),
  limits: fc.record({
    frameBytesMax: knob,
    payloadBytesMax: knob,
    resultBytesMax: knob,
    requestsInFlightMax: knob,
    pollsPerConnectionMax: knob,
    waitMsMax: knob,
  }),
  log: fc.stringMatching(/^[0-9a-f]{32}$/),
})
