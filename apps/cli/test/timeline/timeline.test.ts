import { History, readTaskHistory } from '@tenure/history'
import { encodeRecord } from '@tenure/state-machine'
import { Book, sourceOf } from '@tenure/testing-histories'
import t from 'tap'
import { decodeTaskHistory, recordingOfTask } from '../../src/timeline/recording.js'
import { makeTimeline, type Timeline } from '../../src/timeline/timeline.js'
import { tellAttempt } from '../../src/timeline/words.js'
import { manyTasks, someTasks, twoTasks } from './histories.js'
import { timelineOf } from './world.js'

t.test('a lane has the attempts of its task, with heartbeats, ends and late reports', async (t) => {
  const { lanes, openings } = await timelineOf(twoTasks())
  t.match(lanes, [
    {
      name: 'task 1',
      note: 'mail',
      outcome: 'COMPLETED',
      attempts: [
        {
          workerId: 'ada',
          end: { outcome: 'EXPIRED' },
          lateReport: { lsn: 10 },
          pulse: { count: 1 },
        },
        { workerId: 'ben', end: { outcome: 'COMPLETED' } },
      ],
    },
    { name: 'task 2', attempts: [{ workerId: 'ben' }] },
  ])
  t.match(openings, [{ epoch: 1 }])
})

t.test('a task waits until it is eligible, and then for a worker', async (t) => {
  const book = new Book({ startAt: 0 })
  const backoff = { kind: 'exponential', initialMs: 100, maxMs: 150 } as const
  const task = book.submit({ notBefore: 40, retryPolicy: { maxRetries: 2, backoff } })
  for (const ms of [50, 200, 300]) book.fail(book.wait(ms).lease(task))
  const [lane] = (await timelineOf(book)).lanes
  t.same(lane!.waits, [
    { from: 0, eligibleAt: 40, to: 50, leaseId: 2 },
    { from: 50, eligibleAt: 150, to: 250, leaseId: 4 },
    { from: 250, eligibleAt: 400, to: 550, leaseId: 6 },
  ])
  t.equal(lane!.outcome, 'FAILED')
})

t.test('of many tasks those that ran more than once are shown, and all are counted', async (t) => {
  const timeline = await timelineOf(manyTasks({ tasks: 300 }))
  t.match(timeline, { lanesTotal: 300, lanes: { length: 40 } })
  const late = timeline.lanes.filter((lane) => lane.attempts.some(({ lateReport }) => lateReport))
  t.equal(late.length, timeline.overview.lateReports.count)
  const few = await timelineOf(manyTasks({ tasks: 300 }), { lanesMax: late.length })
  t.ok(late.length > 0)
  t.same(namesOf(few.lanes), namesOf(late), 'those with late reports first')
  const twice = (await timelineOf(manyTasks({ tasks: 300 }), { onlyTwice: true })).lanesTotal
  t.equal(timeline.lanes.filter(({ attempts }) => attempts.length > 1).length, twice)
})

t.test('only those tasks may be shown that ran more than once', async (t) => {
  const { lanes, lanesTotal, overview } = await timelineOf(someTasks(), { onlyTwice: true })
  t.same(
    lanes.map(({ name }) => name),
    ['task 1', 'task 2', 'task 4'],
  )
  t.match({ lanesTotal, attempts: overview.attempts }, { lanesTotal: 3, attempts: 7 })
  const workers = await timelineOf(someTasks(), { onlyTwice: true, lanesBy: 'workers' })
  t.same(
    workers.lanes.map(({ name }) => name),
    ['ada', 'ben', 'dan', 'cora'],
  )
})

t.test('a lane of a worker has what it ran of all tasks', async (t) => {
  const { lanes } = await timelineOf(someTasks(), { lanesBy: 'workers' })
  const ada = lanes.find(({ name }) => name === 'ada')
  t.same(
    ada!.attempts.map(({ taskId }) => taskId),
    [1, 6, 4],
  )
})

t.test('a part of the log shows what ran within it, from an LSN or a time on', async (t) => {
  const book = twoTasks()
  const middle = book.entries[7]!
  for (const from of [{ lsn: middle.lsn }, { at: middle.record.at }]) {
    const { span, lanes } = await timelineOf(book, { from, to: { lsn: 10 } })
    t.same(span, { from: middle.record.at, to: book.entries[9]!.record.at })
    t.same(namesOf(lanes), [['task 1', [1, 2]]])
  }
  const early = await timelineOf(book, { to: { lsn: 4 } })
  t.same(namesOf(early.lanes), [
    ['task 1', [1]],
    ['task 2', [1]],
  ])
  t.equal(early.lanes[0]!.outcome, 'LEASED')
  await t.rejects(timelineOf(book, { from: { lsn: 99 } }), /nothing is recorded/)
})

t.test('where records were removed, leases that still ran are remembered', async (t) => {
  const book = new Book()
  const [stays, ends] = [book.submit(), book.submit()]
  const lease = book.lease(stays)
  book.complete(book.lease(ends))
  book.wait(1000).extend(lease)
  book.wait(1000).complete(lease)
  const removed = { checkpoints: [5], firstLsn: 6 }
  const { lanes, removedBefore } = await timelineOf(book, {}, removed)
  t.equal(removedBefore, 6)
  t.same(namesOf(lanes), [['task 1', [1]]])
  t.match(lanes[0]!.attempts, [{ leaseId: 3, end: { outcome: 'COMPLETED', at: book.now } }])
})

t.test('of a lease whose heartbeats were removed no silence is told', async (t) => {
  const book = new Book()
  const lease = book.lease(book.submit())
  book.wait(10_000).extend(lease)
  book.submit()
  book.expire(lease)
  const [whole, cut] = await Promise.all([
    timelineOf(book),
    timelineOf(book, {}, { checkpoints: [4], firstLsn: 4 }),
  ])
  const told = ({ lanes }: typeof cut) => tellAttempt(lanes[0]!.attempts[0]!).join('; ')
  t.match(told(whole), /; 1 heartbeat; expired .* 30\.0 s after the last sign of life$/)
  t.match(told(cut), /; heartbeats: 0, and those that were removed; expired /)
  t.notMatch(told(cut), /sign of life/)
})

t.test('one task is read from a log and from the answer of a coordinator alike', async (t) => {
  const book = twoTasks()
  const history = await readTaskHistory(new History(sourceOf(book)), 1)
  const { firstLsn, openings, entries } = history
  const records = entries.map(({ lsn, record }) => ({ lsn, bytes: encodeRecord(record) }))
  const answered = decodeTaskHistory(1, { firstLsn, openings, records })
  const options = { lanesBy: 'tasks', lanesMax: 40 } as const
  const [one, other] = await Promise.all(
    [history, answered].map((from) => makeTimeline(recordingOfTask('task 1', from), options)),
  )
  t.same(one, other)
  t.same(namesOf(one!.lanes), [['task 1', [1, 2]]])
})

t.test('of very many heartbeats some are kept, and always the last', async (t) => {
  const book = new Book()
  const lease = book.lease(book.submit())
  for (let at = 0; at < 3000; at++) book.wait(1000).extend(lease)
  const { pulse } = (await timelineOf(book)).lanes[0]!.attempts[0]!
  t.equal(pulse.count, 3000)
  t.ok(pulse.ticks.length <= 257)
  t.equal(pulse.ticks.at(-1), book.now)
})

function namesOf(lanes: Timeline['lanes']) {
  return lanes.map(({ name, attempts }) => [name, attempts.map(({ attempt }) => attempt)])
}
