import { Events, SimulatedClock, Uncaught } from '@tenure/testing'
import t from 'tap'
import {
  connect,
  decodeJson,
  encodeJson,
  type Link,
  type NewRequest,
  RejectedError,
  type RequestOptions,
  type Settle,
  type SubmitOptions,
} from '../src/index.js'
import { limits, type Peer } from './scripted-server.js'
import { createLinkWorld, createWorld, listening, rejection } from './world.js'

const payload = Buffer.from('work')

const taskFacts = {
  taskId: 7,
  queue: 'mail',
  state: 'COMPLETED',
  attempt: 1,
  currentLeaseId: null,
  executionWindowMs: 60_000,
  requestId: undefined,
  createdAt: 1000,
  stateSince: 1020,
  retryPolicy: { maxRetries: 3, backoff: { kind: 'fixed', delayMs: 5000 } },
  failures: 0,
  expiriesInARow: 0,
  endedLsn: 9,
  result: Buffer.from('{"sent":true}'),
  attempts: [{ attempt: 1, leaseId: 8, workerId: 'w', outcome: 'COMPLETED', cancelled: false }],
}

// ---- requests and their answers

t.test('submit sends payload and options, and resolves to the task id', async (t) => {
  await using world = await createWorld()
  const notBefore = new Date(1_800_000_000_000)
  const submitted = world.tenure.submit(payload, {
    queue: 'mail',
    notBefore,
    requestId: 'r1',
    executionWindowMs: 5000,
    retryPolicy: { maxRetries: 1, backoff: { kind: 'exponential', initialMs: 10, maxMs: 100 } },
  })
  const asked = await world.server.request('submit')
  t.match(asked.request, {
    queue: 'mail',
    notBefore: notBefore.getTime(),
    requestId: 'r1',
    executionWindowMs: 5000,
    retryPolicy: { maxRetries: 1, backoff: { kind: 'exponential', initialMs: 10, maxMs: 100 } },
  })
  t.equal(Buffer.from(asked.request.payload).toString(), 'work')
  asked.answer({ kind: 'submitted', taskId: 7, known: true })
  t.strictSame(await submitted, { taskId: 7, known: true })
})

t.test('a submission gets a generated requestId, unless it is null', async (t) => {
  await using world = await createWorld({
    answer: () => ({ kind: 'submitted', taskId: 1, known: false }),
  })
  const ids = new Set<string | undefined>()
  world.server.arrived = ((arrived) => (asked) => {
    if (asked.request.kind === 'submit') ids.add(asked.request.requestId)
    arrived.call(world.server, asked)
  })(world.server.arrived)
  await world.tenure.submit(payload)
  await world.tenure.submit(payload, { delayMs: 100 })
  await world.tenure.submit(payload, { requestId: null })
  t.equal(ids.size, 3)
  t.ok(ids.has(undefined))
})

t.test('a payload is copied: the caller may reuse its buffer immediately', async (t) => {
  await using world = await createWorld()
  const own = Buffer.from('first')
  const submitted = world.tenure.submit(own)
  own.fill('x')
  const asked = await world.server.request('submit')
  t.equal(Buffer.from(asked.request.payload).toString(), 'first')
  asked.answer({ kind: 'submitted', taskId: 1, known: false })
  await submitted
})

t.test('a retry sends the bytes of the first attempt', async (t) => {
  const clock = new SimulatedClock()
  await using world = await createWorld({}, { clock })
  const own = Buffer.from('first')
  const outcomes = world.tenure.submitMany([{ payload: own }])
  const submitting = [world.tenure.submit(own, { retryLater: true }), outcomes.next()]
  for (let count = submitting.length; count > 0; count--) {
    const asked = await world.server.request('submit')
    own.fill('x')
    asked.answer({ kind: 'rejected', reason: 'OVERLOADED', message: '', retryAfterMs: 100 })
  }
  for (let count = submitting.length; count > 0; count--) {
    const asked = await advanceUntil(clock, world.server.request('submit'))
    t.equal(Buffer.from(asked.request.payload).toString(), 'first')
    asked.answer({ kind: 'submitted', taskId: 1, known: false })
  }
  await Promise.all(submitting)
})

t.test('get returns the task in memory of its own, without nil fields', async (t) => {
  await using world = await createWorld({ answer: () => ({ kind: 'task', task: taskFacts }) })
  const task = await world.tenure.get(7)
  t.equal(task.state, 'COMPLETED')
  t.equal(task.currentLeaseId, null)
  t.notOk('requestId' in task)
  t.strictSame(decodeJson(task.result!), { sent: true })
  t.equal(task.result?.buffer.byteLength, task.result?.length, 'the result shares no memory')
  t.equal(task.attempts[0]?.leaseId, 8)
})

t.test('list requests pages up to its limit, as the caller consumes them', async (t) => {
  const total = 10
  const pages: number[] = []
  await using world = await createWorld({
    answer: ({ request }) => {
      if (request.kind !== 'list') return undefined
      pages.push(request.limit)
      const { fromTaskId, limit } = request
      const ids = Array.from({ length: total }, (_, index) => index + 1)
      const found = ids.filter((id) => id >= fromTaskId && id < fromTaskId + limit)
      const tasks = found.map((taskId) => ({ ...taskFacts, taskId }))
      const next = fromTaskId + limit
      return { kind: 'tasks', tasks, nextTaskId: next <= total ? next : undefined }
    },
  })
  const take = async (options: Parameters<typeof world.tenure.list>[0], most = 100) => {
    const ids: number[] = []
    pages.length = 0
    for await (const { taskId } of world.tenure.list(options)) {
      ids.push(taskId)
      if (ids.length === most) break
    }
    return ids
  }
  t.strictSame(await take({ pageSize: 4 }), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  t.strictSame(pages, [4, 4, 4])
  t.strictSame(await take({ pageSize: 4, fromTaskId: 3, limit: 5 }), [3, 4, 5, 6, 7])
  t.strictSame(pages, [4, 1])
  t.strictSame(await take({ pageSize: 4, state: 'COMPLETED', queue: 'mail' }, 2), [1, 2])
  t.strictSame(pages, [4], 'a page is not requested before it is needed')
  t.strictSame(await take({ limit: 0 }), [])
  t.strictSame(pages, [])
})

t.test('list continues after a page without matching tasks', async (t) => {
  await using world = await createWorld({
    answer: ({ request }) => {
      if (request.kind !== 'list') return undefined
      if (request.fromTaskId === 1) return { kind: 'tasks', tasks: [], nextTaskId: 500 }
      return { kind: 'tasks', tasks: [taskFacts] }
    },
  })
  const ids: number[] = []
  for await (const { taskId } of world.tenure.list({ state: 'DEAD' })) ids.push(taskId)
  t.strictSame(ids, [7])
})

t.test("kill, workers, stats and ping return the coordinator's answer", async (t) => {
  await using world = await createWorld({
    answer: ({ request }) => {
      if (request.kind === 'kill') return { kind: 'killed', known: request.reason === 'again' }
      if (request.kind === 'workers')
        return { kind: 'workers', workers: [{ name: 'w1', leases: 2 }], leftOut: 5 }
      if (request.kind === 'stats') return { kind: 'stats', stats: { tasks: { waiting: 3 } } }
      return { kind: 'pong' }
    },
  })
  t.strictSame(await world.tenure.kill(4, 'again'), { known: true })
  t.strictSame(await world.tenure.kill(4), { known: false })
  t.strictSame(await world.tenure.workers(), {
    workers: [{ name: 'w1', leases: 2 }],
    leftOut: 5,
  })
  t.strictSame(await world.tenure.stats(), { tasks: { waiting: 3 } })
  t.ok((await world.tenure.ping()) >= 0)
})

t.test('waitFor polls with growing intervals until the task has ended', async (t) => {
  const clock = new SimulatedClock()
  await using world = await createWorld({}, { clock })
  const waiting = world.tenure.waitFor(7, { pollMs: 100 })
  const pauses: (number | undefined)[] = []
  for (const state of ['WAITING', 'LEASED', 'LEASED']) {
    const asked = await world.server.request('get')
    asked.answer({ kind: 'task', task: { ...taskFacts, state } })
    await turnUntil(() => clock.nextTimerMs !== undefined && clock.nextTimerMs < 1000)
    pauses.push(Math.round(clock.nextTimerMs ?? 0))
    await clock.advanceToNextTimer()
  }
  t.strictSame(pauses, [100, 150, 225])
  ;(await world.server.request('get')).answer({ kind: 'task', task: taskFacts })
  t.equal((await waiting).state, 'COMPLETED')
})

t.test('waitFor ends on timeout', async (t) => {
  const clock = new SimulatedClock()
  let questions = 0
  const received = new Events<Uint8Array>()
  const transport = listening((bytes, events) => {
    events.received(bytes)
    received.add(bytes)
  })
  await using world = await createWorld(
    {
      answer: () => {
        questions++
        return { kind: 'task', task: { ...taskFacts, state: 'WAITING' } }
      },
    },
    { clock, transport },
  )
  const limited = rejection(world.tenure.waitFor(7, { timeoutMs: 400 }))
  for (let answers = 1; answers <= 4; answers++) {
    // After the welcome.
    await received.at(1 + answers)
    await clock.advanceToNextTimer()
  }
  t.match(await limited, { code: 'CLIENT_TIMEOUT', message: /400 ms/ })
  t.equal(questions, 4, 'after 0, 50, 125 and 237.5 ms')
})

t.test('waitFor survives a coordinator that is away for long', async (t) => {
  const clock = new SimulatedClock()
  let isAway = false
  const greet = (peer: Peer) => (isAway ? peer.refuse('STOPPING') : peer.welcome())
  await using world = await createWorld({ greet }, { clock, requestTimeoutMs: 1000 })
  const waiting = world.tenure.waitFor(7)
  await world.server.request('get')
  isAway = true
  world.server.latest.cut()
  // The first poll is lost in transit, the next ones are never sent.
  for (let passedMs = 0; passedMs < 4000; passedMs += 10) await clock.advance(10)
  isAway = false
  const asked = await advanceUntil(clock, world.server.request('get'))
  asked.answer({ kind: 'task', task: taskFacts })
  t.equal((await waiting).state, 'COMPLETED')
})

t.test('waitFor polls again after a missing answer or a temporary rejection', async (t) => {
  const clock = new SimulatedClock()
  const options = { clock, requestTimeoutMs: 1000, keepAliveMs: Number.POSITIVE_INFINITY }
  await using world = await createWorld({}, options)
  const waiting = world.tenure.waitFor(7)
  await world.server.request('get')
  const second = await advanceUntil(clock, world.server.request('get'))
  second.answer({ kind: 'rejected', reason: 'STOPPING', message: 'it stops' })
  const third = await advanceUntil(clock, world.server.request('get'))
  third.answer({ kind: 'task', task: taskFacts })
  t.equal((await waiting).state, 'COMPLETED')
  const refused = rejection(world.tenure.waitFor(8))
  const asked = await world.server.request('get')
  asked.answer({ kind: 'rejected', reason: 'UNKNOWN_TASK', message: 'never heard of it' })
  t.match(await refused, { code: 'CLIENT_REJECTED', reason: 'UNKNOWN_TASK' })
})

t.test('waitFor ends on its own timeout even without answers', async (t) => {
  const clock = new SimulatedClock()
  const options = { clock, requestTimeoutMs: 1000, keepAliveMs: Number.POSITIVE_INFINITY }
  await using world = await createWorld({}, options)
  const limited = rejection(world.tenure.waitFor(7, { timeoutMs: 2500 }))
  t.match(await advanceUntil(clock, limited), {
    code: 'CLIENT_TIMEOUT',
    message: /2500 ms/,
    outcomeUnknown: false,
    cause: { code: 'CLIENT_TIMEOUT' },
  })
})

t.test('waitFor ends with its signal, and with close', async (t) => {
  const clock = new SimulatedClock()
  await using world = await createWorld(
    { answer: () => ({ kind: 'task', task: { ...taskFacts, state: 'WAITING' } }) },
    { clock },
  )
  const controller = new AbortController()
  const aborted = rejection(world.tenure.waitFor(7, { signal: controller.signal }))
  const closed = rejection(world.tenure.waitFor(7))
  await turnUntil(() => (clock.nextTimerMs ?? 1e9) < 200)
  controller.abort()
  t.equal((await aborted).code, 'CLIENT_ABORTED')
  await world.tenure.close()
  t.equal((await closed).code, 'CLIENT_CLOSED')
})

t.test('a task id may be a decimal string', async (t) => {
  const asked: unknown[] = []
  await using world = await createWorld({
    answer: ({ request }) => {
      if (request.kind === 'list') asked.push(request.fromTaskId)
      else if ('taskId' in request) asked.push(request.taskId)
      if (request.kind === 'get') return { kind: 'task', task: taskFacts }
      if (request.kind === 'why') return { kind: 'why', why: {} }
      if (request.kind === 'kill') return { kind: 'killed', known: false }
      if (request.kind === 'list') return { kind: 'tasks', tasks: [] }
      return { kind: 'history', firstLsn: 1, records: [], openings: [] }
    },
  })
  const { tenure } = world
  await tenure.get('17')
  await tenure.get('9007199254740991')
  await rejection(tenure.why('18'))
  await tenure.kill('19')
  await tenure.history('20')
  await tenure.waitFor('21', { timeoutMs: 1000 }).catch(() => undefined)
  for await (const _ of tenure.list({ fromTaskId: '22' })) t.fail()
  t.strictSame([...new Set(asked)], [17, Number.MAX_SAFE_INTEGER, 18, 19, 20, 21, 22])
})

t.test('anything else is no task id, and the id of a shard is not supported yet', async (t) => {
  await using world = await createWorld()
  const { tenure } = world
  const wrong = ['', '0', '-1', '017', '+1', ' 1', '1 ', '1e3', '0x11', '1.', '9007199254740992']
  for (const id of [...wrong, 'x', 0, 1.5, Number.NaN, null, {}, ['17'], 17n] as string[]) {
    const error = await rejection(tenure.get(id))
    t.match(error, { code: 'CLIENT_BAD_ARGUMENT', message: /^taskId (is|must be) / }, String(id))
  }
  const calls = [
    ...[tenure.get('1.17'), tenure.why('1.17'), tenure.kill('1.17'), tenure.history('1.17')],
    ...[tenure.waitFor('1.17'), tenure.list({ fromTaskId: '1.17' }).next()],
  ]
  for (const error of await Promise.all(calls.map(rejection))) {
    const message = /askId is "1\.17", but shards are not supported yet; it must be a whole number/
    t.match(error, { code: 'CLIENT_BAD_ARGUMENT', message })
  }
  t.equal(world.server.unanswered.length, 0)
})

t.test('values are encoded to JSON bytes and decoded again', (t) => {
  t.strictSame(decodeJson(encodeJson({ a: [1, 'ä'] })), { a: [1, 'ä'] })
  t.throws(() => encodeJson(undefined), { code: 'CLIENT_BAD_ARGUMENT' })
  t.throws(() => decodeJson(Buffer.from('{')), { code: 'CLIENT_BAD_ARGUMENT' })
  t.throws(() => decodeJson(Buffer.of(0x22, 0xff, 0x22)), { code: 'CLIENT_BAD_ARGUMENT' })
  t.end()
})

// ---- answers, limits, aborts

t.test('answers in any order reach their callers', async (t) => {
  await using world = await createWorld()
  const names = ['a', 'b', 'c']
  const submitted = names.map((name) => world.tenure.submit(Buffer.from(name)))
  const asked = [
    await world.server.request('submit'),
    await world.server.request('submit'),
    await world.server.request('submit'),
  ]
  for (const one of asked.reverse()) {
    const taskId = Buffer.from(one.request.payload)[0]!
    one.answer({ kind: 'submitted', taskId, known: false })
  }
  const ids = (await Promise.all(submitted)).map(({ taskId }) => taskId)
  t.strictSame(
    ids,
    names.map((name) => name.charCodeAt(0)),
  )
})

t.test('a rejection is an error with its reason, and nothing has changed', async (t) => {
  await using world = await createWorld({
    answer: () => ({ kind: 'rejected', reason: 'OVERLOADED', message: 'later', retryAfterMs: 500 }),
  })
  const error = await rejection(world.tenure.submit(payload, { requestId: 'r9' }))
  t.ok(error instanceof RejectedError)
  t.match(error, {
    code: 'CLIENT_REJECTED',
    reason: 'OVERLOADED',
    retryAfterMs: 500,
    message: 'OVERLOADED: later',
    outcomeUnknown: false,
    requestId: 'r9',
  })
})

t.test('an answer of an unexpected kind is an error', async (t) => {
  await using world = await createWorld({ answer: () => ({ kind: 'pong' }) })
  const error = await rejection(world.tenure.submit(payload))
  t.match(error, { code: 'CLIENT_PROTOCOL', outcomeUnknown: true })
  await using strange = await createWorld({ answer: () => ({ kind: 'task', task: { state: 1 } }) })
  t.equal((await rejection(strange.tenure.get(1))).code, 'CLIENT_PROTOCOL')
})

t.test('a call that times out is rejected, and its late answer is dropped', async (t) => {
  const clock = new SimulatedClock()
  await using world = await createWorld({}, { clock, requestTimeoutMs: 1000 })
  const late = rejection(world.tenure.submit(payload, { requestId: 'r1' }))
  const asked = await world.server.request('submit')
  await clock.advance(999)
  const second = world.tenure.get(7)
  await clock.advance(1)
  const error = await late
  t.match(error, { code: 'CLIENT_TIMEOUT', outcomeUnknown: true, requestId: 'r1' })
  asked.answer({ kind: 'submitted', taskId: 7, known: false })
  ;(await world.server.request('get')).answer({ kind: 'task', task: taskFacts })
  t.equal((await second).taskId, 7)
  t.equal(world.server.peers.length, 1, 'over the same connection')
})

t.test('an abort rejects immediately, before and after sending', async (t) => {
  await using world = await createWorld()
  const controller = new AbortController()
  const { signal } = controller
  const submitted = rejection(world.tenure.submit(payload, { signal }))
  const asked = await world.server.request('submit')
  controller.abort(new Error('changed my mind'))
  t.match(await submitted, {
    code: 'CLIENT_ABORTED',
    outcomeUnknown: true,
    cause: { message: 'changed my mind' },
  })
  asked.answer({ kind: 'submitted', taskId: 1, known: false })
  t.match(await rejection(world.tenure.get(1, { signal })), {
    code: 'CLIENT_ABORTED',
    outcomeUnknown: false,
  })
  const ping = world.tenure.ping()
  const pinged = await world.server.request('ping')
  t.equal(world.server.unanswered.length, 0, 'nothing was sent for the second call')
  pinged.answer({ kind: 'pong' })
  await ping
})

t.test(
  'calls with the same signal share one listener, and none remains after they end',
  async (t) => {
    await using world = await createWorld({ answer: () => ({ kind: 'pong' }) })
    const { signal } = new AbortController()
    let listeners = 0
    const add = signal.addEventListener.bind(signal)
    const remove = signal.removeEventListener.bind(signal)
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners++
      add(...args)
    }
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners--
      remove(...args)
    }
    const pings = Array.from({ length: 50 }, () => world.tenure.ping({ signal }))
    t.equal(listeners, 1)
    await Promise.all(pings)
    t.equal(listeners, 0)
  },
)

t.test(
  "requests in flight stay within the coordinator's limit, abandoned ones included",
  async (t) => {
    const clock = new SimulatedClock()
    await using world = await createLinkWorld({ limits: { requestsInFlightMax: 3 } }, { clock })
    const given: Promise<unknown>[] = []
    for (let taskId = 1; taskId <= 4; taskId++) {
      const timeoutMs = taskId === 1 ? 50 : 5000
      const request = world.link.request({ kind: 'get', taskId }, { timeoutMs })
      given.push(taskId === 1 ? rejection(request) : request)
    }
    const first = await world.server.request('get')
    const second = await world.server.request('get')
    await clock.advance(50)
    await given[0]
    t.equal(world.server.latest.protocol.inFlight, 2, 'one request is reserved for a probe')
    first.answer({ kind: 'task', task: taskFacts })
    const third = await world.server.request('get')
    t.equal(third.request.taskId, 3)
    const controller = new AbortController()
    const { signal } = controller
    const unsent = rejection(world.link.request({ kind: 'get', taskId: 99 }, { signal }))
    controller.abort()
    t.match(await unsent, { code: 'CLIENT_ABORTED', outcomeUnknown: false })
    second.answer({ kind: 'task', task: taskFacts })
    third.answer({ kind: 'task', task: taskFacts })
    ;(await world.server.request('get')).answer({ kind: 'task', task: taskFacts })
    await Promise.all(given)
    const pinged = world.link.request({ kind: 'ping' })
    ;(await world.server.request('ping')).answer({ kind: 'pong' })
    await pinged
    t.equal(world.server.unanswered.length, 0, 'a request abandoned before sending is never sent')
  },
)

t.test(
  'waiting lease requests do not delay heartbeats, and have a limit of their own',
  async (t) => {
    const limits = { requestsInFlightMax: 2, pollsPerConnectionMax: 2 }
    await using world = await createLinkWorld({ limits })
    const lease = () => world.link.request({ kind: 'lease', queues: ['a'], waitMs: 60_000 })
    const leases = [lease(), lease(), lease()]
    const heartbeat = world.link.request({ kind: 'heartbeat', taskId: 1, leaseId: 2 })
    const first = await world.server.request('lease')
    const second = await world.server.request('lease')
    ;(await world.server.request('heartbeat')).answer({ kind: 'rejected', ...expired })
    await heartbeat
    t.equal(world.server.latest.protocol.polls, 2, "the coordinator's limit")
    first.answer({ kind: 'empty' })
    const third = await world.server.request('lease')
    for (const asked of [second, third]) asked.answer({ kind: 'empty' })
    t.strictSame(
      (await Promise.all(leases)).map(({ kind }) => kind),
      ['empty', 'empty', 'empty'],
    )
  },
)

const expired = { reason: 'EXPIRED', message: '' } as const

t.test('close rejects pending calls, and all later ones', async (t) => {
  await using world = await createWorld()
  const waiting = rejection(world.tenure.submit(payload))
  await world.server.request('submit')
  await world.tenure.close()
  t.match(await waiting, { code: 'CLIENT_CLOSED', outcomeUnknown: true })
  t.match(await rejection(world.tenure.ping()), { code: 'CLIENT_CLOSED', outcomeUnknown: false })
  await world.tenure.close()
})

t.test('OVERLOADED is retried on request, within the timeout', async (t) => {
  const clock = new SimulatedClock()
  await using world = await createWorld({}, { clock })
  const submitted = world.tenure.submit(payload, { retryLater: true, timeoutMs: 5000 })
  for (const reason of ['OVERLOADED', 'NO_SPACE', 'STOPPING'] as const) {
    const asked = await world.server.request('submit')
    asked.answer({ kind: 'rejected', reason, message: '', retryAfterMs: 1200 })
    await turnUntil(() => (clock.nextTimerMs ?? 0) < 1201)
    await clock.advance(1200)
  }
  const last = await world.server.request('submit')
  last.answer({ kind: 'submitted', taskId: 3, known: false })
  t.equal((await submitted).taskId, 3)
  const hopeless = rejection(world.tenure.submit(payload, { retryLater: true, timeoutMs: 1000 }))
  const asked = await world.server.request('submit')
  asked.answer({ kind: 'rejected', reason: 'OVERLOADED', message: '', retryAfterMs: 1200 })
  t.match(await hopeless, { reason: 'OVERLOADED' }, 'the timeout would have passed')
  const final = rejection(world.tenure.submit(payload, { retryLater: true }))
  const conflicting = await world.server.request('submit')
  conflicting.answer({ kind: 'rejected', reason: 'CONFLICT', message: '' })
  t.match(await final, { reason: 'CONFLICT' })
})

t.test('an abandoned lease request is withdrawn if it was sent', async (t) => {
  const clock = new SimulatedClock()
  const limits = { pollsPerConnectionMax: 2 }
  const options = { clock, requestTimeoutMs: 500, keepAliveMs: Number.POSITIVE_INFINITY }
  await using world = await createLinkWorld({ limits }, options)
  const controller = new AbortController()
  const { signal } = controller
  const lease = (options: RequestOptions) =>
    rejection(world.link.request({ kind: 'lease', queues: ['a'], waitMs: 60_000 }, options))
  const late = lease({})
  const aborted = lease({ signal, timeoutMs: 60_000 })
  const unsent = lease({ signal })
  const first = await world.server.request('lease')
  const second = await world.server.request('lease')
  controller.abort()
  t.match(await aborted, { code: 'CLIENT_ABORTED', outcomeUnknown: true })
  t.match(await unsent, { code: 'CLIENT_ABORTED', outcomeUnknown: false })
  t.equal((await world.server.request('withdraw')).request.of, second.request.id)
  t.match(await advanceUntil(clock, late), { code: 'CLIENT_TIMEOUT' })
  t.equal((await world.server.request('withdraw')).request.of, first.request.id)
  // Other abandoned requests need no withdrawal.
  t.match(await advanceUntil(clock, rejection(world.link.request({ kind: 'stats' }))), {
    code: 'CLIENT_TIMEOUT',
  })
  t.strictSame(
    world.server.unanswered.map(({ request }) => request.kind),
    ['stats'],
  )
})

// ---- ask, without a promise

/** Calls `ask` and records the outcome. Fails if it arrives before `ask` returns, or twice. */
function outcomeOf(link: Link, request: NewRequest, options: RequestOptions = {}) {
  let hasReturned = false
  let told = 0
  const outcome = new Promise<Parameters<Settle>[0]>((resolve, reject) => {
    link.ask(request, options, (outcome) => {
      if (!hasReturned) reject(new Error('it was told before ask had returned'))
      else if (++told > 1) reject(new Error('it was told twice'))
      else resolve(outcome)
    })
  })
  hasReturned = true
  return { outcome, told: () => told }
}

t.test('ask reports any answer', async (t) => {
  await using world = await createLinkWorld({ answer: () => ({ kind: 'pong' }) })
  const { outcome } = outcomeOf(world.link, { kind: 'ping' })
  t.match(await outcome, { kind: 'pong' })
})

t.test('ask reports an invalid request after it has returned', async (t) => {
  await using world = await createLinkWorld()
  const aborted = AbortSignal.abort()
  const large = { kind: 'submit', payload: Buffer.alloc(64 * 1024 * 1024) } as const
  for (const [why, request, options] of [
    [{ code: 'CLIENT_BAD_ARGUMENT' }, { kind: 'ping' }, { timeoutMs: -1 }],
    [{ code: 'CLIENT_BAD_ARGUMENT' }, { kind: 'lease', queues: ['\ud800'], waitMs: 0 }, {}],
    [{ reason: 'TOO_LARGE' }, large, {}],
    [{ code: 'CLIENT_ABORTED' }, { kind: 'ping' }, { signal: aborted }],
    [{ code: 'CLIENT_WITHHELD' }, { kind: 'ping' }, { maySend: () => false }],
  ] as const) {
    t.match(await outcomeOf(world.link, request, options).outcome, why)
  }
  await world.link.close()
  t.match(await outcomeOf(world.link, { kind: 'ping' }).outcome, { code: 'CLIENT_CLOSED' })
})

t.test('ask reports one outcome, even if an answer follows an abort', async (t) => {
  await using world = await createLinkWorld()
  const controller = new AbortController()
  const { outcome, told } = outcomeOf(world.link, { kind: 'ping' }, { signal: controller.signal })
  const asked = await world.server.request('ping')
  controller.abort()
  t.match(await outcome, { code: 'CLIENT_ABORTED' })
  asked.answer({ kind: 'pong' })
  await world.link.close()
  t.equal(told(), 1)
})

t.test(
  'a callback that throws is an uncaught exception, and no answer in the same bytes is lost',
  async (t) => {
    await using world = await createLinkWorld()
    using uncaught = new Uncaught()
    world.link.ask({ kind: 'ping' }, {}, () => {
      throw new Error('the caller erred')
    })
    const others = [world.link.request({ kind: 'ping' }), world.link.request({ kind: 'stats' })]
    const [first, second, third] = [
      await world.server.request('ping'),
      await world.server.request('ping'),
      await world.server.request('stats'),
    ]
    const { socket, protocol } = first.peer
    const [thrown, told, begun] = [
      protocol.answer({ kind: 'pong', id: first.request.id }),
      protocol.answer({ kind: 'pong', id: second.request.id }),
      protocol.answer({ kind: 'stats', id: third.request.id, stats: { waiting: 3 } }),
    ]
    // The last answer starts in the same bytes as the answer whose callback throws.
    socket.write(Buffer.concat([thrown, told, begun.subarray(0, -4)]))
    t.match(await others[0], { kind: 'pong' })
    socket.write(begun.subarray(-4))
    t.match(await others[1], { kind: 'stats', stats: { waiting: 3 } })
    t.match(await uncaught.at(1), { message: 'the caller erred' })
    t.equal(uncaught.seen.length, 1)
    t.equal(world.server.peers.length, 1, 'over the same connection')
  },
)

t.test('a hook that throws is an uncaught exception, and does not use up the limit', async (t) => {
  // One request in addition to the one reserved for a probe.
  await using world = await createLinkWorld({
    limits: { requestsInFlightMax: 2 },
    answer: () => ({ kind: 'pong' }),
  })
  using uncaught = new Uncaught()
  const fail = () => {
    throw new Error('the hook erred')
  }
  const withheld = outcomeOf(world.link, { kind: 'ping' }, { maySend: fail })
  t.match(await withheld.outcome, { code: 'CLIENT_WITHHELD', outcomeUnknown: false })
  const sent = outcomeOf(world.link, { kind: 'ping' }, { onSent: fail })
  t.match(await sent.outcome, { kind: 'pong' })
  await world.link.request({ kind: 'ping' })
  t.match(uncaught.seen, [{ message: 'the hook erred' }, { message: 'the hook erred' }])
  t.strictSame([withheld.told(), sent.told()], [1, 1])
})

t.test('an invalid signal is reported once, and leaves no call behind', async (t) => {
  const clock = new SimulatedClock()
  const options = { clock, keepAliveMs: Number.POSITIVE_INFINITY, requestTimeoutMs: 1000 }
  await using world = await createLinkWorld({}, options)
  for (const signal of [{ aborted: false }, null, 7]) {
    const asked = outcomeOf(world.link, { kind: 'ping' }, { signal: signal as AbortSignal })
    t.match(await asked.outcome, { code: 'CLIENT_BAD_ARGUMENT', message: /^signal / })
    await clock.advance(2000)
    t.equal(asked.told(), 1)
  }
})

// ---- checks of arguments

t.test('an invalid submission is rejected before it is sent, with its path', async (t) => {
  await using world = await createWorld()
  const cases: [unknown, string][] = [
    [{ queue: '' }, 'queue'],
    [{ queue: 'x'.repeat(65) }, 'queue'],
    [{ notBefore: 'soon' }, 'notBefore'],
    [{ notBefore: new Date(Number.NaN) }, 'notBefore'],
    [{ notBefore: 1, delayMs: 1 }, 'delayMs'],
    [{ delayMs: -1 }, 'delayMs'],
    [{ requestId: '' }, 'requestId'],
    [{ requestId: 'ä'.repeat(65) }, 'requestId'],
    [{ requestId: '\ud800' }, 'requestId'],
    [{ queue: 'mail\udc00' }, 'queue'],
    [{ executionWindowMs: 0 }, 'executionWindowMs'],
    [{ retryPolicy: { maxRetries: 1, backoff: { kind: 'fixed' } } }, 'retryPolicy.backoff.delayMs'],
    [{ priority: 1 }, 'submission.priority'],
    [{ timeoutMs: 0 }, 'timeoutMs'],
    [{ timeoutMs: '5' }, 'timeoutMs'],
    [{ signal: new AbortController() }, 'signal'],
  ]
  for (const [options, path] of cases) {
    const error = await rejection(world.tenure.submit(payload, options as SubmitOptions))
    t.equal(error.code, 'CLIENT_BAD_ARGUMENT', error.message)
    t.match(error.message, path)
  }
  t.match(await rejection(world.tenure.submit('text' as unknown as Uint8Array)), {
    code: 'CLIENT_BAD_ARGUMENT',
  })
  t.match(await rejection(world.tenure.get(0)), {
    code: 'CLIENT_BAD_ARGUMENT',
    message: 'taskId is 0; it must be a whole number from 1 to 9007199254740991',
  })
  t.match(await rejection(world.tenure.kill(1, 'x'.repeat(5000))), { code: 'CLIENT_BAD_ARGUMENT' })
  t.match(await rejection(world.tenure.kill(1, '\ud800')), { message: /^reason / })
  t.match(await rejection(world.tenure.list({ queue: '\ud800' }).next()), { message: /^queue / })
  for (const state of ['RUNNING', 'dead', '', 7] as never[]) {
    t.match(await rejection(world.tenure.list({ state }).next()), {
      code: 'CLIENT_BAD_ARGUMENT',
      message: /^state .*one of WAITING, LEASED, COMPLETED, FAILED, DEAD/,
    })
  }
  t.equal(world.server.unanswered.length, 0)
})

t.test(
  'unknown options, or a controller instead of a signal, are rejected everywhere',
  async (t) => {
    await using world = await createWorld()
    const { tenure, server } = world
    type Options = { readonly signal?: AbortSignal }
    const calls: { readonly [call: string]: (options: Options) => Promise<unknown> } = {
      submit: (options) => tenure.submit(payload, options),
      submitMany: (options) => tenure.submitMany([{ payload }], options).next(),
      get: (options) => tenure.get(1, options),
      why: (options) => tenure.why(1, options),
      history: (options) => tenure.history(1, options),
      list: (options) => tenure.list(options).next(),
      kill: (options) => tenure.kill(1, 'because', options),
      workers: (options) => tenure.workers(options),
      stats: (options) => tenure.stats(options),
      checkpoint: (options) => tenure.checkpoint(options),
      ping: (options) => tenure.ping(options),
      waitFor: (options) => tenure.waitFor(1, options),
      connect: (options) => connect({ endpoints: [server.endpoint] }, options),
    }
    const wrong: [object, RegExp][] = [
      [{ timeout: 5 }, /^(options|submission|call)\.timeout is not an option/],
      [{ signal: new AbortController() }, /^signal is an object; it must be an AbortSignal/],
    ]
    for (const [name, call] of Object.entries(calls)) {
      for (const [options, message] of wrong) {
        t.match(await rejection(call(options)), { code: 'CLIENT_BAD_ARGUMENT', message }, name)
      }
    }
    const timeless = rejection(tenure.submitMany([{ payload }], { timeoutMs: 0 }).next())
    t.match(await timeless, { code: 'CLIENT_BAD_ARGUMENT', message: /^timeoutMs / })
    t.equal(server.unanswered.length, 0)
  },
)

t.test('a request over the frame limit is rejected locally and ends no connection', async (t) => {
  await using world = await createWorld({ answer: () => ({ kind: 'pong' }) })
  const large = Buffer.alloc(limits.frameBytesMax)
  const error = await rejection(world.tenure.submit(large, { requestId: 'r1' }))
  t.match(error, { code: 'CLIENT_REJECTED', reason: 'TOO_LARGE', requestId: 'r1' })
  await world.tenure.ping()
  t.equal(world.server.peers.length, 1)
})

/** Advances time and runs socket events until the promise settles. */
async function advanceUntil<T>(clock: SimulatedClock, happening: Promise<T>): Promise<T> {
  let hasHappened = false
  const happened = happening.finally(() => {
    hasHappened = true
  })
  while (!hasHappened) await clock.advance(5)
  return happened
}

/** Runs the event loop, with socket events, until a condition holds. */
async function turnUntil(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve))
}
