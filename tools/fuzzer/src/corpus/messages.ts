import {
  type Answer,
  type AnswerKind,
  type Hello,
  type LeaseTerms,
  messageLimits as limits,
  protocolVersion,
  type Reason,
  type RequestKind,
  type RequestOf,
  reasons,
  roles,
  ServerConnection,
  taskStates,
  type Welcome,
} from '@tenure/protocol'
import type { Random } from '@tenure/testing'
import { mapWith, packr, spelledLongest } from './message-pack.js'
import { bytes, maybe, text, whole } from './scalars.js'

/** Valid messages of every kind; fields are sometimes at their limits. */

const most = Number.MAX_SAFE_INTEGER

const lsn = (random: Random) =>
  random.chance(0.7) ? 1 + random.integer(12) : whole(random, 1, most)
const id = (random: Random) => whole(random, 1, 2 ** 32 - 1)
const duration = (random: Random) => whole(random, 0, limits.durationMsMax)
const reason = (random: Random) => text(random, 0, limits.reasonBytesMax)
const reportId = (random: Random) => text(random, 1, limits.reportIdBytesMax)
const queue = (random: Random) =>
  random.chance(0.7) ? random.pick(['default', 'mail']) : text(random, 1, limits.queueBytesMax)

type RequestMakers = { readonly [K in RequestKind]: (random: Random) => Omit<RequestOf<K>, 'id'> }

const requestMakers: RequestMakers = {
  submit: (random) => ({
    kind: 'submit',
    payload: bytes(random),
    ...maybe(random, 'queue', () => queue(random)),
    ...random.pick([
      {},
      { notBefore: whole(random, 0, limits.timeMsMax) },
      { delayMs: duration(random) },
    ]),
    ...maybe(random, 'requestId', () => text(random, 1, limits.requestIdBytesMax)),
    ...maybe(random, 'executionWindowMs', () => whole(random, 1, limits.durationMsMax)),
    ...maybe(random, 'retryPolicy', () => ({
      maxRetries: whole(random, 0, 2 ** 31 - 1),
      backoff: random.chance(0.5)
        ? { kind: 'fixed' as const, delayMs: duration(random) }
        : { kind: 'exponential' as const, initialMs: duration(random), maxMs: duration(random) },
    })),
  }),
  lease: (random) => ({
    kind: 'lease',
    queues: Array.from({ length: 1 + random.integer(limits.queuesMax) }, () => queue(random)),
    waitMs: duration(random),
  }),
  heartbeat: (random) => ({ kind: 'heartbeat', taskId: lsn(random), leaseId: lsn(random) }),
  complete: (random) => ({
    kind: 'complete',
    taskId: lsn(random),
    leaseId: lsn(random),
    ...maybe(random, 'reportId', () => reportId(random)),
    ...maybe(random, 'result', () => bytes(random)),
  }),
  fail: (random) => ({
    kind: 'fail',
    taskId: lsn(random),
    leaseId: lsn(random),
    reason: reason(random),
    ...maybe(random, 'reportId', () => reportId(random)),
  }),
  kill: (random) => ({ kind: 'kill', taskId: lsn(random), reason: reason(random) }),
  get: (random) => ({ kind: 'get', taskId: lsn(random) }),
  list: (random) => ({
    kind: 'list',
    fromTaskId: lsn(random),
    limit: whole(random, 1, limits.listMax),
    ...maybe(random, 'state', () => random.pick(taskStates)),
    ...maybe(random, 'queue', () => queue(random)),
  }),
  workers: () => ({ kind: 'workers' }),
  stats: () => ({ kind: 'stats' }),
  ping: () => ({ kind: 'ping' }),
  withdraw: (random) => ({ kind: 'withdraw', of: 1 + random.integer(8) }),
  checkpoint: () => ({ kind: 'checkpoint' }),
  why: (random) => ({ kind: 'why', taskId: lsn(random) }),
  history: (random) => ({ kind: 'history', taskId: lsn(random), ...place(random) }),
}

function place(random: Random) {
  return {
    fromLsn: lsn(random),
    ...maybe(random, 'leaseId', () => lsn(random)),
    ...maybe(random, 'retriesLeft', () => whole(random, 0, 2 ** 31 - 1)),
    ...maybe(random, 'endedLsn', () => lsn(random)),
  }
}

export function anyRequest(random: Random, own = id(random)): RequestOf<RequestKind> {
  const kind = random.pick(Object.keys(requestMakers) as RequestKind[])
  return { ...requestMakers[kind](random), id: own } as RequestOf<RequestKind>
}

type AnswerMakers = {
  readonly [K in AnswerKind]: (random: Random) => Omit<Extract<Answer, { kind: K }>, 'id'>
}

const answerMakers: AnswerMakers = {
  submitted: (random) => ({ kind: 'submitted', taskId: lsn(random), known: random.chance(0.5) }),
  leased: (random) => ({
    kind: 'leased',
    taskId: lsn(random),
    leaseId: lsn(random),
    attempt: lsn(random),
    queue: queue(random),
    payload: bytes(random),
    ...terms(random),
  }),
  empty: () => ({ kind: 'empty' }),
  extended: (random) => ({ kind: 'extended', ...terms(random) }),
  committed: (random) => ({
    kind: 'committed',
    state: text(random, 1, 16),
    ...maybe(random, 'eligibleAt', () => whole(random, 0, 2 * limits.timeMsMax)),
  }),
  cancelled: (random) => ({
    kind: 'cancelled',
    reason: word(random),
    ...maybe(random, 'supersededBy', () => lsn(random)),
  }),
  rejected: (random) => ({
    kind: 'rejected',
    reason: word(random),
    message: reason(random),
    ...maybe(random, 'retryAfterMs', () => whole(random, 0, limits.timeMsMax)),
    ...maybe(random, 'active', () => text(random, 1, limits.endpointBytesMax)),
  }),
  killed: (random) => ({ kind: 'killed', known: random.chance(0.5) }),
  task: (random) => ({ kind: 'task', task: facts(random) }),
  tasks: (random) => ({
    kind: 'tasks',
    tasks: several(random, facts),
    ...maybe(random, 'nextTaskId', () => lsn(random)),
  }),
  workers: (random) => ({
    kind: 'workers',
    workers: several(random, facts),
    leftOut: whole(random, 0, most),
  }),
  stats: (random) => ({ kind: 'stats', stats: facts(random) }),
  pong: () => ({ kind: 'pong' }),
  withdrawn: () => ({ kind: 'withdrawn' }),
  why: (random) => ({ kind: 'why', why: facts(random) }),
  checkpointed: (random) => ({ kind: 'checkpointed', checkpoint: facts(random) }),
  history: (random) => ({
    kind: 'history',
    firstLsn: lsn(random),
    records: several(random, () => ({ lsn: lsn(random), bytes: bytes(random) })),
    openings: several(random, () => ({
      epoch: lsn(random),
      firstLsn: lsn(random),
      at: whole(random, 0, most),
    })),
    ...maybe(random, 'next', () => place(random)),
  }),
}

export function anyAnswer(random: Random): Answer {
  const kind = random.pick(Object.keys(answerMakers) as AnswerKind[])
  return { ...answerMakers[kind](random), id: id(random) } as Answer
}

function terms(random: Random): LeaseTerms {
  const time = () => whole(random, 0, most)
  return {
    leaseExpiry: time(),
    windowEnd: time(),
    heldMs: time(),
    leaseMs: time(),
    windowMs: time(),
  }
}

function word(random: Random): Reason {
  return random.pick(Object.keys(reasons) as Reason[])
}

function several<T>(random: Random, make: (random: Random) => T): T[] {
  return Array.from({ length: random.integer(4) }, () => make(random))
}

const factNames = ['taskId', 'queue', 'ü', 'constructor', '', 'a'.repeat(40), '0', 'toString']

function facts(random: Random, depth = 0): { readonly [name: string]: unknown } {
  const names = several(random, () => random.pick(factNames))
  return Object.fromEntries(names.map((name) => [name, fact(random, depth + 1)]))
}

function fact(random: Random, depth: number): unknown {
  if (depth < 4 && random.chance(0.3)) {
    return random.chance(0.5)
      ? facts(random, depth)
      : several(random, () => fact(random, depth + 1))
  }
  return random.pick([
    ...[null, true, false],
    ...[whole(random, 0, most), text(random, 0, 100), bytes(random)],
  ])
}

export function anyHello(random: Random, token?: string): Hello {
  const hello = {
    version: protocolVersion,
    role: random.pick(roles),
    name: text(random, 1, limits.workerIdBytesMax),
    capacity: whole(random, 0, 1_000_000),
  }
  return token === undefined ? hello : { ...hello, token }
}

export function anyWelcome(random: Random): Welcome {
  const knob = () => whole(random, 0, most)
  return {
    version: whole(random, 1, 0xffff),
    epoch: knob(),
    leaseDurationMs: 1 + random.integer(9),
    heartbeatIntervalMs: whole(random, 1, most),
    syncMode: text(random, 1, 16),
    limits: {
      // Includes small limits: larger frames have to be rejected.
      frameBytesMax: random.pick([knob(), 1000, 2 ** 20]),
      payloadBytesMax: knob(),
      resultBytesMax: knob(),
      requestsInFlightMax: knob(),
      pollsPerConnectionMax: knob(),
      waitMsMax: knob(),
    },
    log: Buffer.from(random.bytes(16)).toString('hex'),
  }
}

/** A hello, a welcome or a rejection with other keys in its extras, in another encoding. */
export function withOtherExtras(random: Random, frame: Uint8Array): Buffer {
  const values: unknown[] = packr.unpack(unframe(frame))
  const extras = mapWith(random, Object(values.pop()))
  const head = Buffer.of(0x90 + values.length + 1)
  return frameOf(Buffer.concat([head, ...values.map(spelledLongest), extras]))
}

/** A refusal of the hello, or a farewell. */
export function anyFarewell(random: Random): Buffer {
  const active = random.chance(0.5) ? 'b.example:7411' : undefined
  const frame = ServerConnection.farewell(word(random), text(random, 0, 100), active)
  return random.chance(0.5) ? withOtherExtras(random, frame) : frame
}

/** Returns the body of a frame. */
export function unframe(frame: Uint8Array): Uint8Array {
  return frame.subarray(4)
}

export function frameOf(body: Uint8Array): Buffer {
  const frame = Buffer.alloc(4 + body.length)
  frame.writeUInt32BE(body.length)
  frame.set(body, 4)
  return frame
}
