import { type Answer, type Facts, type History, messageLimits } from '@tenure/protocol'
import { SimulatedClock } from '@tenure/testing'
import t from 'tap'
import { HistoryQueue } from '../src/queries/history-queue.js'
import { QueryQueue } from '../src/queries/query-queue.js'
import { ScriptedReader } from './scripted-reader.js'
import { client, otherWorker, World, worker } from './world.js'

const poll = { kind: 'lease', queues: ['mail', 'default'], waitMs: 60_000 } as const
const startMs = 1_700_000_000_000

async function why(world: World, taskId: number): Promise<Facts> {
  return (await world.expect('why', { kind: 'why', taskId })).why
}

async function stats(world: World): Promise<Facts> {
  return (await world.expect('stats', { kind: 'stats' })).stats
}

// ---- why

t.test("why: an eligible task's position, and the polls of its queue", async (t) => {
  const world = await World.started()
  await world.clock.advance(1000)
  const tasks = [await world.submit(), await world.submit(), await world.submit()]
  await world.submit({ queue: 'other' })
  const since = startMs + 1000
  const waiting = { state: 'WAITING', queue: 'default', stateSince: since, eligibleAt: since }
  t.strictSame(await why(world, tasks[2]!), {
    now: since,
    startedAt: startMs,
    ...waiting,
    ahead: 2,
    pollsWaiting: 0,
  })
  await world.clock.advance(500)
  await world.ask({ kind: 'lease', queues: ['default'], waitMs: 0 }, worker)
  await world.clock.advance(500)
  t.strictSame(await why(world, tasks[2]!), {
    now: since + 1000,
    startedAt: startMs,
    ...waiting,
    ahead: 1,
    pollsWaiting: 0,
    queueLastAskedAt: since + 500,
  })
})

t.test('why: a task that is not eligible has no position', async (t) => {
  const world = await World.started()
  world.send({ kind: 'lease', queues: ['mail'], waitMs: 9000 }, worker)
  const taskId = await world.submit({ queue: 'mail', delayMs: 5000 })
  const asked = { queueLastAskedAt: startMs, pollsWaiting: 1 }
  const waiting = { state: 'WAITING', stateSince: startMs, eligibleAt: startMs + 5000 }
  t.strictSame(await why(world, taskId), {
    now: startMs,
    startedAt: startMs,
    queue: 'mail',
    ...waiting,
    ...asked,
  })
  await world.clock.advance(4999)
  t.notOk('ahead' in (await why(world, taskId)))
  world.coordinator.leave(worker)
  await world.clock.advance(1)
  t.match(await why(world, taskId), { ahead: 0, pollsWaiting: 0 })
})

t.test('why: all polling workers are at capacity', async (t) => {
  const world = await World.started()
  world.coordinator.join(worker, 1)
  await world.submit()
  await world.lease()
  const taskId = await world.submit()
  t.notOk('pollsAreFull' in (await why(world, taskId)), 'no poll waits')
  world.send({ kind: 'lease', queues: ['default', 'mail'], waitMs: 9000 }, worker)
  t.match(await why(world, taskId), { pollsWaiting: 1, pollsAreFull: true })
  world.send({ kind: 'lease', queues: ['mail'], waitMs: 9000 }, otherWorker)
  t.match(await why(world, taskId), { pollsWaiting: 1, pollsAreFull: true })
  const later = await world.submit({ queue: 'mail', delayMs: 9000 })
  t.notOk('pollsAreFull' in (await why(world, later)), 'one of them has capacity')
})

t.test('why: the worker of a leased task, and when it was last heard from', async (t) => {
  const world = await World.started()
  world.coordinator.join(worker, 1)
  await world.submit()
  const { taskId, leaseId } = await world.lease()
  await world.clock.advance(1000)
  await world.expect('extended', { kind: 'heartbeat', taskId, leaseId }, worker)
  await world.clock.advance(1000)
  const lease = {
    leaseId,
    workerId: 'w1',
    attempt: 1,
    grantedAt: startMs,
    leaseExpiry: startMs + 31_000,
    windowEnd: startMs + 3_600_000,
  }
  t.strictSame(await why(world, taskId), {
    now: startMs + 2000,
    startedAt: startMs,
    state: 'LEASED',
    queue: 'default',
    stateSince: startMs,
    pollsWaiting: 0,
    queueLastAskedAt: startMs,
    lease,
    workerLastHeardAt: startMs + 1000,
  })
})

t.test('why: a restart forgets when workers were heard from, and says when it was', async (t) => {
  const world = await World.started()
  await world.submit()
  const { taskId } = await world.lease()
  await world.stop()
  await world.clock.advance(7000)
  await world.start()
  const facts = await why(world, taskId)
  t.match(facts, { state: 'LEASED', startedAt: startMs + 7000, lease: { workerId: 'w1' } })
  t.notOk('workerLastHeardAt' in facts || 'queueLastAskedAt' in facts)
})

t.test('why: only the state of an ended task; UNKNOWN_TASK for no task', async (t) => {
  const world = await World.started()
  const taskId = await world.submit()
  await world.ask({ kind: 'kill', taskId, reason: '' })
  t.strictSame(await why(world, taskId), {
    now: startMs,
    startedAt: startMs,
    state: 'DEAD',
    queue: 'default',
    stateSince: startMs,
    pollsWaiting: 0,
  })
  const none = await world.ask({ kind: 'why', taskId: 999 })
  t.match(none, { kind: 'rejected', reason: 'UNKNOWN_TASK' })
})

t.test('why: counting the tasks ahead stops at a limit', async (t) => {
  const world = await World.started()
  const payload = Buffer.of(1)
  for (let i = 0; i < 10_000; i++) world.send({ kind: 'submit', payload })
  const [last, first] = [await world.submit(), await world.submit()]
  t.match(await why(world, last), { ahead: 10_000, aheadIsMore: undefined })
  t.match(await why(world, first), { ahead: 10_000, aheadIsMore: true })
})

// ---- stats

t.test('stats: the longest queues, and the polls that wait for them', async (t) => {
  const world = await World.started()
  for (const queue of ['a', 'b', 'b']) await world.submit({ queue })
  await world.clock.advance(1000)
  world.send({ ...poll, queues: ['c'] }, worker)
  await world.submit({ queue: 'c', delayMs: 9000 })
  t.match(await stats(world), {
    startedAt: startMs,
    now: startMs + 1000,
    waitingPolls: 1,
    queues: 3,
    linesLeftOut: 0,
  })
  t.strictSame((await stats(world)).lines, [
    { queue: 'b', waiting: 2, firstEligibleAt: startMs, pollsWaiting: 0 },
    { queue: 'a', waiting: 1, firstEligibleAt: startMs, pollsWaiting: 0 },
    {
      queue: 'c',
      waiting: 1,
      firstEligibleAt: startMs + 10_000,
      pollsWaiting: 1,
      lastAskedAt: startMs + 1000,
    },
  ])
})

t.test('stats: a hundred queues are listed, and the number of the others', async (t) => {
  const world = await World.started()
  const payload = Buffer.of(1)
  for (let i = 0; i < 150; i++) world.send({ kind: 'submit', payload, queue: `q${i}` })
  await world.submit({ queue: 'q149' })
  const { lines, linesLeftOut, queues } = await stats(world)
  t.strictSame([(lines as Facts[]).length, linesLeftOut, queues], [100, 50, 150])
  t.match((lines as Facts[])[0], { queue: 'q149', waiting: 2 })
})

// ---- workers

t.test('workers: the tasks that each holds longest, and its last requested queues', async (t) => {
  const world = await World.started()
  world.coordinator.join(worker, 20)
  world.coordinator.join(otherWorker, 1)
  const tasks: number[] = []
  for (let i = 0; i < 12; i++) {
    await world.submit()
    tasks.push((await world.lease(worker, ['default', 'mail', 'mail'])).taskId)
  }
  const workers = async () => (await world.expect('workers', { kind: 'workers' })).workers
  const held = { name: 'w1', connections: 1, capacity: 20, lastHeardAt: startMs }
  t.strictSame(await workers(), [
    { ...held, leases: 12, tasks: tasks.slice(0, 10), queues: ['default', 'mail'] },
    { ...held, name: 'w2', capacity: 1, leases: 0, tasks: [], queues: [] },
  ])
  await world.ask({ kind: 'kill', taskId: tasks[0]!, reason: '' })
  await world.ask({ kind: 'lease', queues: ['b'], waitMs: 0 }, worker)
  t.match((await workers())[0], { leases: 11, tasks: tasks.slice(1, 11), queues: ['b'] })
})

t.test('list and get show the worker of a leased task, and when its lease expires', async (t) => {
  const world = await World.started()
  await world.submit()
  await world.submit()
  const { taskId, leaseId, leaseExpiry } = await world.lease()
  const { tasks } = await world.expect('tasks', { kind: 'list', fromTaskId: 1, limit: 9 })
  t.strictSame(
    tasks.map((task) => [task.workerId, task.leaseExpiry]),
    [
      ['w1', leaseExpiry],
      [undefined, undefined],
    ],
  )
  const leased = (await world.expect('task', { kind: 'get', taskId })).task
  t.strictSame([leased.workerId, leased.leaseExpiry], ['w1', leaseExpiry])
  await world.clock.advance(5000)
  const beat = await world.expect('extended', { kind: 'heartbeat', taskId, leaseId }, worker)
  const extended = (await world.expect('task', { kind: 'get', taskId })).task
  t.equal(extended.leaseExpiry, beat.leaseExpiry)
  t.equal(beat.leaseExpiry, leaseExpiry + 5000)
})

// ---- history

/** A world whose log reader waits for the test. */
async function withReader(): Promise<{ world: World; reader: ScriptedReader }> {
  const world = new World()
  const reader = new ScriptedReader()
  await world.start({}, reader)
  return { world, reader }
}

const history = { kind: 'history', taskId: 1, fromLsn: 1 } as const
const page = { firstLsn: 1, records: [], openings: [] }

t.test('a submission is answered while a history is read', async (t) => {
  const { world, reader } = await withReader()
  const answers = world.send(history)
  await world.clock.settle()
  t.strictSame([reader.asked(), answers], [[1], []])
  const taskId = await world.submit()
  t.match(await world.ask({ kind: 'get', taskId }), { kind: 'task' }, 'and so is a query')
  t.match(await world.lease(), { taskId })
  t.strictSame(answers, [])
  await reader.give(page)
  t.match(answers, [{ kind: 'history', ...page }])
})

t.test('a history is read up to the durable end, with the known leases', async (t) => {
  const { world, reader } = await withReader()
  const taskId = await world.submit({ retryPolicy: { maxRetries: 5, backoff: fixed } })
  const leases: number[] = []
  for (let attempt = 1; attempt <= 3; attempt++) {
    const { leaseId } = await world.lease()
    leases.unshift(leaseId)
    await world.ask({ kind: 'fail', taskId, leaseId, reason: 'no' }, worker)
  }
  const place = { fromLsn: 3, leaseId: 2, retriesLeft: 1, endedLsn: 7 }
  world.send({ kind: 'history', taskId, ...place })
  await world.clock.settle()
  t.strictSame(reader.queries, [
    { taskId, ...place, leaseIds: leases, throughLsn: 7, bytesMax: 128 * 1024 },
  ])
  await reader.give(page)
  world.send({ kind: 'history', taskId: 999, fromLsn: 1 })
  await world.clock.settle()
  t.match(reader.queries[1], { taskId: 999, leaseIds: [] }, 'whether the task exists or not')
})

const fixed = { kind: 'fixed', delayMs: 0 } as const

t.test(
  'a history read is aborted when its connection closes or the coordinator stops',
  async (t) => {
    const { world, reader } = await withReader()
    const left = world.send(history, worker)
    const waiting = world.send({ ...history, taskId: 2 }, client)
    await world.clock.settle()
    world.coordinator.leave(worker)
    t.equal(reader.signal.aborted, true)
    await reader.fail(new Error('given up'))
    t.strictSame([reader.asked(), left], [[1, 2], []])
    const stopped = world.coordinator.stop()
    t.match(waiting, [{ kind: 'rejected', reason: 'STOPPING' }])
    t.equal(reader.signal.aborted, true)
    await stopped
  },
)

t.test('a coordinator that cannot read its log rejects history', async (t) => {
  const world = await World.started()
  t.match(await world.ask(history), { kind: 'rejected', message: /cannot read history/ })
})

t.test('a lease request with several queues is remembered for each', async (t) => {
  const world = await World.started()
  const queues = Array.from({ length: messageLimits.queuesMax }, (_, index) => `q${index}`)
  await world.ask({ kind: 'lease', queues, waitMs: 0 }, worker)
  for (const queue of queues) {
    const taskId = await world.submit({ queue })
    t.match(await why(world, taskId), { queueLastAskedAt: startMs })
  }
})

// ---- histories, read one after the other

function createHistories() {
  const reader = new ScriptedReader()
  const queryFor = ({ kind, id, ...place }: History) => ({
    ...place,
    leaseIds: [],
    throughLsn: 9,
    bytesMax: 100,
  })
  const histories = new HistoryQueue(reader, queryFor)
  const answers: Answer[] = []
  const ask = (caller: object, id: number) =>
    histories.add(caller, { kind: 'history', id, taskId: id, fromLsn: 1 }, (answer) =>
      answers.push(answer),
    )
  return { reader, histories, answers, ask }
}

const [one, other] = [{}, {}]

t.test('history pages are read one at a time, in order of arrival', async (t) => {
  const { reader, answers, ask } = createHistories()
  for (const id of [1, 2, 3]) ask(id === 2 ? other : one, id)
  t.strictSame(reader.asked(), [1])
  for (const id of [1, 2, 3]) {
    await reader.give(page)
    t.match(answers.at(-1), { kind: 'history', id, ...page })
  }
  t.strictSame([reader.asked(), answers.length], [[1, 2, 3], 3])
})

t.test('a full history queue answers OVERLOADED', async (t) => {
  const { reader, answers, ask } = createHistories()
  for (let id = 1; id <= 17; id++) ask(one, id)
  t.match(answers, [{ kind: 'rejected', id: 17, reason: 'OVERLOADED', retryAfterMs: 1000 }])
  await reader.give(page)
  ask(one, 18)
  t.equal(answers.length, 2, 'below the limit again')
})

t.test('a read for a closed connection is aborted, and the next one starts', async (t) => {
  const { reader, histories, answers, ask } = createHistories()
  ask(one, 1)
  ask(one, 2)
  ask(other, 3)
  histories.leave(one)
  t.equal(reader.signal.aborted, true)
  t.strictSame(reader.asked(), [1], 'still one at a time')
  await reader.fail(new Error('given up'))
  t.strictSame([reader.asked(), reader.signal.aborted], [[1, 3], false])
  histories.leave({})
  t.equal(reader.signal.aborted, false)
  await reader.give(page)
  t.match(answers, [{ kind: 'history', id: 3 }])
})

t.test('a page that arrives for a closed connection is dropped', async (t) => {
  const { reader, histories, answers, ask } = createHistories()
  ask(one, 1)
  ask(other, 2)
  histories.leave(one)
  await reader.give(page)
  t.strictSame(answers, [])
  await reader.give({ ...page, firstLsn: 7 })
  t.match(answers, [{ kind: 'history', id: 2, firstLsn: 7 }])
})

t.test('a failed read is rejected, and the next one starts', async (t) => {
  const { reader, answers, ask } = createHistories()
  ask(one, 1)
  ask(one, 2)
  await reader.fail(new Error('segment 3 is damaged'))
  t.match(answers, [
    { kind: 'rejected', id: 1, reason: 'INTERNAL', message: /segment 3 is damaged/ },
  ])
  await reader.give(page)
  t.match(answers[1], { kind: 'history', id: 2 })
})

t.test('shutdown rejects waiting history requests, and nothing more is read', async (t) => {
  const { reader, histories, answers, ask } = createHistories()
  ask(one, 1)
  ask(other, 2)
  histories.finish()
  const stopping = { kind: 'rejected', reason: 'STOPPING' }
  t.match(answers, [
    { ...stopping, id: 1 },
    { ...stopping, id: 2 },
  ])
  t.equal(reader.signal.aborted, true)
  await reader.fail(new Error('given up'))
  t.strictSame([reader.asked(), answers.length], [[1], 2])
})

t.test('without a reader every history request is rejected', (t) => {
  const histories = new HistoryQueue(undefined, () => t.fail('nothing is read') as never)
  const answers: Answer[] = []
  histories.add(one, { kind: 'history', id: 1, taskId: 1, fromLsn: 1 }, (own) => answers.push(own))
  t.match(answers, [
    { kind: 'rejected', id: 1, reason: 'INTERNAL', message: /cannot read history/ },
  ])
  t.end()
})

// ---- the queue of queries

/** A queue whose queries each take this long. */
function createQueue({ questionMs = 0, isBusy = false } = {}) {
  const clock = new SimulatedClock({ soon: 'manual' })
  const answered: string[] = []
  let spentMs = 0
  const slowed = {
    now: () => clock.now(),
    monotonicMs: () => clock.monotonicMs() + spentMs,
    setTimer: clock.setTimer.bind(clock),
    soon: clock.soon.bind(clock),
  }
  const turns: string[][] = []
  slowed.soon = (callback) =>
    clock.soon(() => {
      callback()
      turns.push(answered.splice(0))
    })
  const queue = new QueryQueue<string>(
    slowed,
    () => isBusy,
    (question) => {
      spentMs += questionMs
      answered.push(question)
    },
  )
  return { clock, queue, answered, turns }
}

t.test(
  'queries are answered in a later turn, for a short time each, at least one per turn',
  async (t) => {
    const quick = createQueue({ questionMs: 0.1 })
    for (const question of ['1', '2', '3', '4', '5']) quick.queue.add(one, question)
    t.strictSame(quick.answered, [])
    await quick.clock.settle()
    t.strictSame(quick.turns, [
      ['1', '2', '3'],
      ['4', '5'],
    ])
    const long = createQueue({ questionMs: 100 })
    for (const question of ['1', '2']) long.queue.add(one, question)
    await long.clock.settle()
    t.strictSame(long.turns, [['1'], ['2']])
  },
)

t.test('connections take turns, and each gets its answers in order', async (t) => {
  const { clock, queue, turns } = createQueue()
  for (const question of ['1', '2', '3']) queue.add(one, question)
  queue.add(other, 'other')
  await clock.settle()
  t.strictSame(turns, [['1', 'other', '2', '3']])
})

t.test('while there is other work, queries pause between turns', async (t) => {
  const { clock, queue, answered, turns } = createQueue({ questionMs: 1, isBusy: true })
  for (const question of ['1', '2', '3']) queue.add(one, question)
  await clock.settle()
  t.strictSame(turns, [['1']], 'the first one does not wait')
  await clock.advance(5)
  t.strictSame(answered, ['2'])
  await clock.advance(5)
  t.strictSame(answered, ['2', '3'])
})

t.test('queries of a closed connection are not answered', async (t) => {
  const { clock, queue, turns } = createQueue()
  queue.add(one, '1')
  queue.add(other, '2')
  queue.leave(one)
  await clock.settle()
  t.strictSame(turns, [['2']])
})

t.test('shutdown answers the remaining queries immediately', (t) => {
  const { queue, answered } = createQueue({ questionMs: 100, isBusy: true })
  for (const question of ['1', '2', '3']) queue.add(one, question)
  queue.finish()
  t.strictSame(answered, ['1', '2', '3'])
  t.end()
})
