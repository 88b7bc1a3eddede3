import t from 'tap'
import type { HistoryProgress } from '../src/index.js'
import type { ServerOptions } from './scripted-server.js'
import { createWorld, rejection } from './world.js'

const record = (lsn: number) => ({ lsn, bytes: Buffer.from(`record ${lsn}`) })
const opening = (epoch: number) => ({ epoch, firstLsn: epoch * 10, at: epoch * 1000 })
const places = [
  { fromLsn: 1 },
  { fromLsn: 1000, leaseId: 8, retriesLeft: 0 },
  { fromLsn: 2000, endedLsn: 1500 },
]

/** Three pages, of which one has nothing. */
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
        ...{ kind: 'history', firstLsn: 1, records, openings: [opening(page + 1)] },
        ...(next !== undefined && { next }),
      }
    },
  }
}

t.test('a history is asked for page by page, each with what the one before gave', async (t) => {
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
    { records: 4 },
  ])
  t.strictSame(
    history.records.map(({ lsn, bytes }) => `${lsn}: ${Buffer.from(bytes)}`),
    ['1: record 1', '2: record 2', '21: record 21', '22: record 22'],
  )
  t.strictSame(history.openings, [opening(1), opening(2), opening(3)])
  t.equal(history.firstLsn, 1)
})

t.test('a task of which nothing is in the log has an empty history', async (t) => {
  await using world = await createWorld({
    answer: () => ({ kind: 'history', firstLsn: 5, records: [], openings: [] }),
  })
  t.strictSame(await world.tenure.history(7), { firstLsn: 5, records: [], openings: [] })
})

t.test('what a log loses while it is read leaves no hole in a history', async (t) => {
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
  t.strictSame(await found(2), [5, [7, 8, 11], 2], 'all that was found is a whole')
  t.strictSame(await found(3), [30, [30], 1])
  t.strictSame(await found(4), [30, [30, 41], 2])
})

t.test('a history larger than may be kept is an error that says so', async (t) => {
  await using world = await createWorld(answerPages())
  // Four records of 8 or 9 bytes and three openings, each entry counted with 128 bytes beside.
  const bytes = 2 * 8 + 2 * 9 + 7 * 128
  const error = await rejection(world.tenure.history(7, { bytesMax: bytes - 1 }))
  t.match(error, { code: 'CLIENT_TOO_LARGE', message: /task 7 .* more than 929 bytes/ })
  t.equal((await world.tenure.history(7, { bytesMax: bytes })).records.length, 4)
})

t.test('a page that leads nowhere is refused, for it would be asked for without end', async (t) => {
  for (const fromLsn of [1, 1000]) {
    await using world = await createWorld({
      answer: () => ({
        ...{ kind: 'history', firstLsn: 1, records: [], openings: [], next: { fromLsn } },
      }),
    })
    t.match(await rejection(world.tenure.history(7)), { code: 'CLIENT_PROTOCOL' })
  }
})

t.test('where too many ask for histories, the client comes back', async (t) => {
  await using world = await createWorld()
  const history = world.tenure.history(7)
  const first = await world.server.request('history')
  first.answer({ kind: 'rejected', reason: 'OVERLOADED', message: 'later', retryAfterMs: 1 })
  const second = await world.server.request('history')
  t.strictSame({ ...second.request, id: 0 }, { ...first.request, id: 0 })
  second.answer({ kind: 'rejected', reason: 'OVERLOADED', message: 'later', retryAfterMs: 60_001 })
  t.match(await rejection(history), { code: 'CLIENT_REJECTED', reason: 'OVERLOADED' })
})

t.test('a page is asked for again when the connection is lost', async (t) => {
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
      ...{ code: 'CLIENT_BAD_ARGUMENT', message },
    })
  await refused({ bytesMax: 0 }, /bytesMax is 0/)
  await refused({ timeoutMs: -1 }, /timeoutMs is -1/)
  await refused({ pages: 1 }, /options\.pages/)
  t.match(await rejection(world.tenure.history(0)), { message: /taskId is 0/ })
})

t.test('why gives what the coordinator says, and nil is an absent field', async (t) => {
  const facts = { now: 9, state: 'WAITING', queue: 'mail', eligibleAt: 5, ahead: 3, lease: null }
  await using world = await createWorld({ answer: () => ({ kind: 'why', why: facts }) })
  const { lease, ...given } = facts
  t.strictSame(await world.tenure.why(7), given)
  await using odd = await createWorld({ answer: () => ({ kind: 'why', why: { now: 'x' } }) })
  t.match(await rejection(odd.tenure.why(7)), { code: 'CLIENT_PROTOCOL', message: /now is a/ })
})

t.test('what get says of a task is enough to submit the same work again', async (t) => {
  const options = {
    ...{ queue: 'mail', notBefore: 1_800_000_000_000, executionWindowMs: 5000 },
    retryPolicy: { maxRetries: 2, backoff: { kind: 'exponential', initialMs: 10, maxMs: 100 } },
  } as const
  const payload = Buffer.from('work')
  const task = { taskId: 7, state: 'FAILED', attempts: [], currentLeaseId: null, payload }
  await using world = await createWorld({
    answer: ({ request }) =>
      request.kind === 'get' ? { kind: 'task', task: { ...task, ...options } } : undefined,
  })
  const { queue, notBefore, executionWindowMs, retryPolicy, ...failed } = await world.tenure.get(7)
  const again = { queue, executionWindowMs, retryPolicy, ...(notBefore && { notBefore }) }
  const submitted = world.tenure.submit(failed.payload!, { ...again, requestId: 'again: 7' })
  const asked = await world.server.request('submit')
  t.match(asked.request, { ...options, payload, requestId: 'again: 7' })
  asked.answer({ kind: 'submitted', taskId: 8, known: false })
  await submitted
})
