import { SimulatedClock } from '@tenure/testing'
import t from 'tap'
import type { HistoryProgress, Submission, SubmitOutcome } from '../src/index.js'
import type { Asked, ServerOptions } from './scripted-server.js'
import { createWorld, rejection } from './world.js'

// ---- submissions

const item = (number: number): Submission => ({ payload: Buffer.from(String(number)) })
const numberOf = ({ payload }: { readonly payload: Uint8Array }) => Number(Buffer.from(payload))

/** An endless source that counts its consumed items. */
function endless() {
  const source = {
    taken: 0,
    isReturned: false,
    async *[Symbol.asyncIterator]() {
      try {
        while (true) yield item(source.taken++)
      } finally {
        source.isReturned = true
      }
    },
  }
  return source
}

async function collect(outcomes: AsyncIterable<SubmitOutcome>): Promise<SubmitOutcome[]> {
  const all: SubmitOutcome[] = []
  for await (const outcome of outcomes) all.push(outcome)
  return all
}

function answerAll({ request }: Asked) {
  if (request.kind !== 'submit') return undefined
  return { kind: 'submitted', taskId: numberOf(request) + 1, known: false } as const
}

t.test('10,000 items are yielded in order, with a bounded number in flight', async (t) => {
  let inFlightMost = 0
  const waiting: Asked[] = []
  await using world = await createWorld({
    limits: { requestsInFlightMax: 500 },
    answer: (asked) => {
      inFlightMost = Math.max(inFlightMost, asked.peer.protocol.inFlight)
      waiting.push(asked)
      // Answered some turns later, the last one first.
      if (waiting.length === 1) {
        setImmediate(() => {
          for (const one of waiting.splice(0).reverse()) one.answer(answerAll(one)!)
        })
      }
      return undefined
    },
  })
  let taken = 0
  function* items() {
    for (; taken < 10_000; taken++) yield item(taken)
  }
  let index = 0
  let aheadMost = 0
  for await (const outcome of world.tenure.submitMany(items())) {
    if (!outcome.ok || outcome.index !== index || outcome.taskId !== index + 1) t.fail(`${index}`)
    index++
    aheadMost = Math.max(aheadMost, taken - index)
  }
  t.equal(index, 10_000)
  t.equal(inFlightMost, 256)
  t.ok(aheadMost <= 256, `${aheadMost} read ahead`)
})

t.test("the window does not exceed the coordinator's limit", async (t) => {
  await using world = await createWorld({ limits: { requestsInFlightMax: 4 } })
  const source = endless()
  const outcomes = world.tenure.submitMany(source)
  const first = outcomes.next()
  const asked = await world.server.request('submit')
  await world.server.request('submit')
  await world.server.request('submit')
  await turns()
  t.equal(source.taken, 4)
  asked.answer({ kind: 'submitted', taskId: 1, known: false })
  t.match(await first, { value: { ok: true, index: 0, taskId: 1 } })
  await outcomes.return()
})

t.test('a consumer that stops iterating stops the reading', async (t) => {
  await using world = await createWorld({ answer: (asked) => answerAll(asked) ?? { kind: 'pong' } })
  const source = endless()
  const outcomes = world.tenure.submitMany(source, { window: 10 })
  t.match(await outcomes.next(), { value: { ok: true, index: 0 } })
  await world.tenure.ping()
  await world.tenure.ping()
  t.equal(source.taken, 11, 'one was consumed, ten are finished or in flight')
  t.match(await outcomes.next(), { value: { index: 1 } })
  await outcomes.return()
  t.equal(source.isReturned, true, 'the source is closed')
})

t.test('reading continues while the consumer handles an outcome', async (t) => {
  await using world = await createWorld({ limits: { requestsInFlightMax: 10 } })
  const outcomes = world.tenure.submitMany(endless(), { window: 2 })
  const first = outcomes.next()
  ;(await world.server.request('submit')).answer({ kind: 'submitted', taskId: 1, known: false })
  await first
  await world.server.request('submit')
  t.equal(numberOf((await world.server.request('submit')).request), 2)
  await outcomes.return()
})

t.test('an invalid submission is an outcome at its position', async (t) => {
  await using world = await createWorld({
    answer: (asked) => {
      const isRefused = asked.request.kind === 'submit' && asked.request.requestId === 'conflict'
      if (isRefused) return { kind: 'rejected', reason: 'CONFLICT', message: 'another one' }
      return answerAll(asked)
    },
  })
  const items = [
    item(0),
    { ...item(1), requestId: 'conflict' },
    { ...item(2), queue: '' },
    { ...item(3), delayMs: 10 },
  ]
  const outcomes = await collect(world.tenure.submitMany(items))
  t.match(outcomes, [
    { ok: true, index: 0, taskId: 1, known: false },
    { ok: false, index: 1, error: { reason: 'CONFLICT' } },
    { ok: false, index: 2, error: { code: 'CLIENT_BAD_ARGUMENT' } },
    { ok: true, index: 3, taskId: 4 },
  ])
})

t.test('an error of the source is thrown after the outcomes of its items', async (t) => {
  await using world = await createWorld({ answer: answerAll })
  const seen: SubmitOutcome[] = []
  async function* items() {
    yield item(0)
    yield item(1)
    throw new Error('no more lines')
  }
  const reading = async () => {
    for await (const outcome of world.tenure.submitMany(items())) seen.push(outcome)
  }
  await t.rejects(reading(), { message: 'no more lines' })
  t.equal(seen.length, 2)
})

t.test('an abort cancels submissions in flight, and ends with an error', async (t) => {
  await using world = await createWorld()
  const controller = new AbortController()
  const { signal } = controller
  let isWaiting = false
  async function* items() {
    yield item(0)
    isWaiting = true
    await new Promise(() => undefined)
  }
  const seen: SubmitOutcome[] = []
  const reading = async () => {
    for await (const outcome of world.tenure.submitMany(items(), { signal })) seen.push(outcome)
  }
  const ended = rejection(reading())
  await world.server.request('submit')
  t.equal(isWaiting, true, 'even while the source is awaited')
  controller.abort()
  t.equal((await ended).code, 'CLIENT_ABORTED')
  t.match(seen, [{ ok: false, error: { code: 'CLIENT_ABORTED', outcomeUnknown: true } }])
})

t.test('over lost connections every item is submitted once, under one requestId', async (t) => {
  const tasks = new Map<string, number>()
  let answered = 0
  await using world = await createWorld({
    answer: ({ request, peer }) => {
      if (request.kind !== 'submit') return undefined
      const requestId = request.requestId!
      const known = tasks.has(requestId)
      const taskId = tasks.get(requestId) ?? tasks.size + 1
      tasks.set(requestId, taskId)
      // Committed, and the answer lost with the connection.
      if (++answered % 97 === 0) {
        peer.cut()
        return undefined
      }
      return { kind: 'submitted', taskId, known }
    },
  })
  const items = Array.from({ length: 500 }, (_, number) => item(number))
  const outcomes = await collect(world.tenure.submitMany(items, { window: 50 }))
  t.equal(outcomes.filter(({ ok }) => ok).length, 500)
  t.equal(tasks.size, 500)
  t.ok(world.server.peers.length > 2)
  t.ok(outcomes.some((outcome) => outcome.ok && outcome.known))
})

t.test('OVERLOADED is retried, unless retryLater is false', async (t) => {
  const clock = new SimulatedClock()
  let refusals = 0
  await using world = await createWorld(
    {
      answer: (asked) => {
        if (refusals++ % 2 === 1) return answerAll(asked)
        return { kind: 'rejected', reason: 'OVERLOADED', message: '', retryAfterMs: 100 }
      },
    },
    { clock },
  )
  const waited = collect(world.tenure.submitMany([item(0)]))
  let hasEnded = false
  void waited.then(() => {
    hasEnded = true
  })
  while (!hasEnded) {
    await turns()
    if ((clock.nextTimerMs ?? 1e9) <= 100) await clock.advanceToNextTimer()
  }
  t.match(await waited, [{ ok: true, taskId: 1 }])
  const refused = await collect(world.tenure.submitMany([item(0)], { retryLater: false }))
  t.match(refused, [{ ok: false, error: { reason: 'OVERLOADED' } }])
})

t.test('an error that would repeat for every item ends the iteration', async (t) => {
  await using world = await createWorld({
    answer: () => ({ kind: 'rejected', reason: 'FORBIDDEN', message: 'a worker submits nothing' }),
  })
  const source = endless()
  t.match(await rejection(collect(world.tenure.submitMany(source))), { reason: 'FORBIDDEN' })
  await world.tenure.close()
  t.match(await rejection(collect(world.tenure.submitMany(endless()))), { code: 'CLIENT_CLOSED' })
  t.match(await rejection(collect(world.tenure.submitMany(7 as unknown as Submission[]))), {
    code: 'CLIENT_BAD_ARGUMENT',
  })
  t.match(await rejection(collect(world.tenure.submitMany([], { window: 0 }))), {
    code: 'CLIENT_BAD_ARGUMENT',
  })
})

/** Runs everything that needs no time to pass. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

// ---- histories

const record = (lsn: number) => ({ lsn, bytes: Buffer.from(`record ${lsn}`) })
const opening = (epoch: number) => ({ epoch, firstLsn: epoch * 10, at: epoch * 1000 })
const places = [
  { fromLsn: 1 },
  { fromLsn: 1000, leaseId: 8, retriesLeft: 0 },
  { fromLsn: 2000, endedLsn: 1500 },
]

/** Three pages, one of them empty. */
function answerPages(seen: object[] = []): ServerOptions {
  return {
    answer: ({ request }) => {
      if (request.kind !== 'history') return undefined
      const { kind, id, ...place } = request
      seen.push(place)
      const page = places.findIndex(({ fromLsn }) => fromLsn === request.fromLsn)
      const next = places[page + 1]
      const records = page === 1 ? [] : [record(10 * page + 1), record(10 * page + 2)]
      return {
        kind: 'history',
        firstLsn: 1,
        records,
        openings: [opening(page + 1)],
        next,
      }
    },
  }
}

t.test('a history is requested by page, each from the end of the previous one', async (t) => {
  const seen: object[] = []
  await using world = await createWorld(answerPages(seen))
  const progress: HistoryProgress[] = []
  const history = await world.tenure.history(7, { onProgress: (own) => progress.push(own) })
  t.strictSame(
    seen,
    places.map((place) => ({ taskId: 7, ...place })),
  )
  t.strictSame(progress, [
    { nextLsn: 1000, records: 2 },
    { nextLsn: 2000, records: 2 },
    { nextLsn: undefined, records: 4 },
  ])
  t.strictSame(
    history.records.map(({ lsn, bytes }) => `${lsn}: ${Buffer.from(bytes)}`),
    ['1: record 1', '2: record 2', '21: record 21', '22: record 22'],
  )
  t.strictSame(history.openings, [opening(1), opening(2), opening(3)])
  t.equal(history.firstLsn, 1)
})

t.test('a task without records has an empty history', async (t) => {
  await using world = await createWorld({
    answer: () => ({ kind: 'history', firstLsn: 5, records: [], openings: [] }),
  })
  t.strictSame(await world.tenure.history(7), { firstLsn: 5, records: [], openings: [] })
})

t.test('records removed during the read leave no gap in a history', async (t) => {
  const pages = [
    { firstLsn: 5, records: [record(7), record(8)], next: { fromLsn: 10 } },
    { firstLsn: 10, records: [record(11)], next: { fromLsn: 20 } },
    { firstLsn: 30, records: [record(30)], next: { fromLsn: 40 } },
    { firstLsn: 35, records: [record(41)] },
  ]
  const found = async (count: number) => {
    const left = pages.slice(0, count).map((page) => ({ ...page, openings: [opening(1)] }))
    const { next, ...last } = left.pop()!
    await using world = await createWorld({
      answer: () => ({ kind: 'history', ...(left.shift() ?? last) }),
    })
    const { firstLsn, records, openings } = await world.tenure.history(7)
    return [firstLsn, records.map(({ lsn }) => lsn), openings.length]
  }
  t.strictSame(await found(2), [5, [7, 8, 11], 2], 'the found records are contiguous')
  t.strictSame(await found(3), [30, [30], 1])
  t.strictSame(await found(4), [30, [30, 41], 2])
})

t.test('a history over bytesMax is an error', async (t) => {
  await using world = await createWorld(answerPages())
  // Four records of 8 or 9 bytes and three openings, each counted with another 128 bytes.
  const bytes = 2 * 8 + 2 * 9 + 7 * 128
  const error = await rejection(world.tenure.history(7, { bytesMax: bytes - 1 }))
  t.match(error, { code: 'CLIENT_TOO_LARGE', message: /task 7 .* larger than 929 bytes/ })
  t.equal((await world.tenure.history(7, { bytesMax: bytes })).records.length, 4)
})

t.test('a page that does not advance is rejected, because it would repeat forever', async (t) => {
  for (const fromLsn of [1, 1000]) {
    await using world = await createWorld({
      answer: () => ({
        kind: 'history',
        firstLsn: 1,
        records: [],
        openings: [],
        next: { fromLsn },
      }),
    })
    t.match(await rejection(world.tenure.history(7)), { code: 'CLIENT_PROTOCOL' })
  }
})

t.test('when the history queue is full, the client retries', async (t) => {
  await using world = await createWorld()
  const history = world.tenure.history(7)
  const first = await world.server.request('history')
  first.answer({ kind: 'rejected', reason: 'OVERLOADED', message: 'later', retryAfterMs: 1 })
  const second = await world.server.request('history')
  t.strictSame({ ...second.request, id: 0 }, { ...first.request, id: 0 })
  second.answer({ kind: 'rejected', reason: 'OVERLOADED', message: 'later', retryAfterMs: 60_001 })
  t.match(await rejection(history), { code: 'CLIENT_REJECTED', reason: 'OVERLOADED' })
})

t.test('a page is requested again after a lost connection', async (t) => {
  await using world = await createWorld()
  const history = world.tenure.history(7)
  await world.server.request('history')
  world.server.latest.cut()
  const again = await world.server.request('history')
  again.answer({ kind: 'history', firstLsn: 1, records: [record(7)], openings: [] })
  t.equal((await history).records.length, 1)
})

t.test('options of history are checked', async (t) => {
  await using world = await createWorld()
  const refused = async (options: object, message: RegExp) =>
    t.match(await rejection(world.tenure.history(7, options)), {
      code: 'CLIENT_BAD_ARGUMENT',
      message,
    })
  await refused({ bytesMax: 0 }, /bytesMax is 0/)
  await refused({ timeoutMs: -1 }, /timeoutMs is -1/)
  await refused({ pages: 1 }, /options\.pages/)
  t.match(await rejection(world.tenure.history(0)), { message: /taskId is 0/ })
})

t.test("why returns the coordinator's answer, without nil fields", async (t) => {
  const facts = { now: 9, state: 'WAITING', queue: 'mail', eligibleAt: 5, ahead: 3, lease: null }
  await using world = await createWorld({ answer: () => ({ kind: 'why', why: facts }) })
  const { lease, ...given } = facts
  t.strictSame(await world.tenure.why(7), given)
  await using odd = await createWorld({ answer: () => ({ kind: 'why', why: { now: 'x' } }) })
  t.match(await rejection(odd.tenure.why(7)), { code: 'CLIENT_PROTOCOL', message: /now is a/ })
})

t.test('the facts of get suffice to submit the same task again', async (t) => {
  const options = {
    queue: 'mail',
    notBefore: 1_800_000_000_000,
    executionWindowMs: 5000,
    retryPolicy: { maxRetries: 2, backoff: { kind: 'exponential', initialMs: 10, maxMs: 100 } },
  } as const
  const payload = Buffer.from('work')
  const task = { taskId: 7, state: 'FAILED', attempts: [], currentLeaseId: null, payload }
  await using world = await createWorld({
    answer: ({ request }) =>
      request.kind === 'get' ? { kind: 'task', task: { ...task, ...options } } : undefined,
  })
  const { queue, notBefore, executionWindowMs, retryPolicy, ...failed } = await world.tenure.get(7)
  const again = { queue, executionWindowMs, retryPolicy, notBefore }
  const submitted = world.tenure.submit(failed.payload!, { ...again, requestId: 'again: 7' })
  const asked = await world.server.request('submit')
  t.match(asked.request, { ...options, payload, requestId: 'again: 7' })
  asked.answer({ kind: 'submitted', taskId: 8, known: false })
  await submitted
})
