import { join } from 'node:path'
import type { Link, NewRequest } from '@tenure/client'
import type { Answer, Facts, Leased, TasksFound } from '@tenure/protocol'
import { apply, createState, listTasks, type State } from '@tenure/state-machine'
import { StallingProxy } from '@tenure/testing'
import t, { type Test } from 'tap'
import { CoordinatorProcess, makeDirectory } from './coordinator-process.js'
import { connectOnce, connectTo, expect, leaseFrom, untilLost } from './links.js'
import { historyOf, readLog } from './log-book.js'
import { Transcript } from './transcript.js'

/** Every failure of 002 §6, with the real binary and real sockets. */
const submit = { kind: 'submit', payload: Buffer.from('work') } as const
/** A lease of such a task expires soon. */
const brief = { ...submit, executionWindowMs: 200 } as const

const names = ['w1', 'w2', 'w3', 'w4']

/** Even on a slow machine, only a task with a short execution window loses its lease. */
const longLeases = ['--lease-duration', '10m']

async function start(t: Test) {
  const dataDir = join(makeDirectory(t), 'data')
  const { port } = await CoordinatorProcess.start(t, dataDir, longLeases)
  return { dataDir, port }
}

function complete({ taskId, leaseId }: Leased) {
  return { kind: 'complete', taskId, leaseId, reportId: `of ${leaseId}` } as const
}

/** Leases and completes, repeatedly if necessary: on a slow machine a short lease may expire first. */
async function finish(link: Link): Promise<Leased> {
  for (;;) {
    const leased = await leaseFrom(link, 'default')
    const { kind } = await link.request(complete(leased))
    if (kind === 'committed') return leased
  }
}

async function getTaskFrom(link: Link, taskId: number): Promise<Facts> {
  return (await expect(link, 'task', { kind: 'get', taskId })).task
}

async function listTasksFrom(link: Link): Promise<Facts[]> {
  const all: Facts[] = []
  for (let fromTaskId: number | undefined = 1; fromTaskId !== undefined; ) {
    const page: TasksFound = await expect(link, 'tasks', { kind: 'list', fromTaskId, limit: 1000 })
    all.push(...page.tasks)
    fromTaskId = page.nextTaskId
  }
  return all
}

interface AttemptSeen {
  readonly leaseId: number
  readonly workerId: string
  readonly outcome: string
}

/** Every attempt but the last one expired; the last one completed the task. */
async function checkAttempts(t: Test, link: Link, first: Leased, last: Leased): Promise<void> {
  const task = await getTaskFrom(link, first.taskId)
  t.equal(task.state, 'COMPLETED')
  const attempts = task.attempts as AttemptSeen[]
  t.ok(attempts.length >= 2, 'it was executed again')
  t.match(attempts[0], { leaseId: first.leaseId, workerId: 'w1' })
  t.match(attempts.pop(), { leaseId: last.leaseId, workerId: 'w2', outcome: 'COMPLETED' })
  for (const { outcome } of attempts) t.equal(outcome, 'EXPIRED')
  t.ok(last.leaseId > first.leaseId, 'a lease id is a fencing token')
}

t.test('§6.1 a worker crashes: its lease expires, and the task is executed again', async (t) => {
  const { port } = await start(t)
  const [crashing, other] = [await connectTo(t, port, 'w1'), await connectTo(t, port, 'w2')]
  await expect(other, 'submitted', brief)
  const first = await leaseFrom(crashing, 'default')
  await crashing.close()
  const last = await finish(other)
  t.equal(last.taskId, first.taskId)
  await checkAttempts(t, other, first, last)
})

t.test(
  '§6.2 the coordinator crashes under load: replay restores exactly what was answered',
  async (t) => {
    const dataDir = join(makeDirectory(t), 'data')
    const { coordinator, port } = await CoordinatorProcess.start(t, dataDir, longLeases)
    const transcript = new Transcript()
    const lanes = await startLoad(t, port, transcript)
    await transcript.until(() => transcript.size >= 1000)
    await coordinator.end()
    await Promise.all(lanes)
    t.equal(transcript.lost.length, lanes.length, 'all clients had requests in flight')

    const replayed = await replay(dataDir)
    const again = await CoordinatorProcess.start(t, dataDir, longLeases)
    const expected = [...listTasks(replayed)]
    t.match(again.started, { epoch: 2, tasks: expected.length })
    t.ok((await metric(again.httpPort, 'tenure_replay_seconds')) > 0)
    t.equal(await metric(again.httpPort, 'tenure_coordinator_restarts'), 1)
    const link = await connectTo(t, again.port, 'witness')
    t.strictSame(await listTasksFrom(link), expected)
    await checkFacts(t, again.port, transcript)
  },
)

/** Producers and workers, each with several concurrent requests. */
async function startLoad(t: Test, port: number, transcript: Transcript) {
  const lanes: Promise<void>[] = []
  for (const name of names) {
    const link = await connectOnce(t, port, name)
    const ask = (request: NewRequest) => transcript.ask(link, name, request)
    for (let lane = 0; lane < 10; lane++) {
      lanes.push(untilLost(() => (lane < 5 ? produce(ask, `${name}-${lane}`) : work(ask))))
    }
  }
  return lanes
}

type Ask = (request: NewRequest) => Promise<Answer>

async function produce(ask: Ask, name: string): Promise<void> {
  for (let count = 0; ; count++) await ask({ ...submit, requestId: `${name}-${count}` })
}

/** Completes every other task. */
async function work(ask: Ask): Promise<void> {
  for (let count = 0; ; count++) {
    const answer = await ask({ kind: 'lease', queues: ['default'], waitMs: 20_000 })
    if (answer.kind === 'leased' && count % 2 === 0) await ask(complete(answer))
  }
}

async function replay(dataDir: string): Promise<State> {
  const state = createState()
  for await (const { lsn, record } of readLog(dataDir)) apply(state, lsn, record)
  return state
}

async function metric(httpPort: unknown, name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${httpPort}/metrics`)).text()
  return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1])
}

/** Everything answered is still true after the restart: repeated requests get the same answers. */
async function checkFacts(t: Test, port: number, transcript: Transcript): Promise<void> {
  const links = new Map<string, Link>()
  for (const name of names) links.set(name, await connectTo(t, port, name))
  const submissions = transcript.answeredBy('submitted')
  for (const { by, request, answer } of submissions) {
    const { taskId, known } = await expect(links.get(by)!, 'submitted', request)
    if (taskId !== answer.taskId || !known) t.fail(`task ${answer.taskId} is lost`)
  }
  const completions = transcript.answeredBy('committed')
  for (const { by, request } of completions) {
    const { state } = await expect(links.get(by)!, 'committed', request)
    if (state !== 'COMPLETED') t.fail(`${JSON.stringify(request)} is lost: ${state}`)
  }
  const leases = transcript.answeredBy('leased')
  for (const { by, answer } of leases) {
    await expect(links.get(by)!, 'committed', complete(answer))
  }
  for (const facts of [submissions, completions, leases]) t.ok(facts.length > 100)
}

t.test(
  '§6.3 a partition: a worker that lost its lease is CANCELLED, and the task is executed again',
  async (t) => {
    const { port, dataDir } = await start(t)
    const proxy = await StallingProxy.open(t, port)
    const [cutOff, other] = [await connectTo(t, proxy.port, 'w1'), await connectTo(t, port, 'w2')]
    await expect(other, 'submitted', brief)
    const first = await leaseFrom(cutOff, 'default')
    proxy.stall()
    const report = cutOff.request(complete(first))
    const beat = cutOff.request({ ...complete(first), kind: 'heartbeat' })
    const last = await finish(other)
    proxy.resume()
    const answer = { kind: 'cancelled', reason: 'SUPERSEDED', supersededBy: last.leaseId }
    t.match(await report, answer)
    t.match(await beat, { kind: 'rejected', reason: 'SUPERSEDED' })
    await checkAttempts(t, other, first, last)
    const history = await historyOf(dataDir, first.taskId)
    t.strictSame(history.slice(-2), ['TaskCompleted', 'TaskCancelled'])
  },
)

t.test('§6.4 the answer to a report is lost: sent again, it has the same answer', async (t) => {
  const { port, dataDir } = await start(t)
  const proxy = await StallingProxy.open(t, port)
  const link = await connectTo(t, proxy.port, 'w1')
  await expect(link, 'submitted', submit)
  const leased = await leaseFrom(link, 'default')
  const lost = proxy.loseNextAnswer()
  const answered = link.request(complete(leased), { retry: true })
  await lost
  t.match(await answered, { kind: 'committed', state: 'COMPLETED' })
  t.match(await link.request({ ...complete(leased), reportId: 'another' }), {
    kind: 'rejected',
    reason: 'DUPLICATE_REPORT',
  })
  const history = await historyOf(dataDir, leased.taskId)
  t.strictSame(history, ['TaskCreated', 'LeaseGranted', 'TaskCompleted'])
})

t.test('§6.4 the report itself is lost: the task is executed again', async (t) => {
  const { port } = await start(t)
  const proxy = await StallingProxy.open(t, port)
  const [unheard, other] = [await connectTo(t, proxy.port, 'w1'), await connectTo(t, port, 'w2')]
  await expect(other, 'submitted', brief)
  const first = await leaseFrom(unheard, 'default')
  proxy.stall()
  const report = unheard.request(complete(first))
  proxy.disconnect()
  await t.rejects(report, { code: 'CLIENT_DISCONNECTED' })
  await checkAttempts(t, other, first, await finish(other))
})

t.test(
  '§6.4 the answer to a lease request is lost: the task is offered again after that lease',
  async (t) => {
    const { port, dataDir } = await start(t)
    const proxy = await StallingProxy.open(t, port)
    const [unhearing, other] = [
      await connectTo(t, proxy.port, 'w1'),
      await connectTo(t, port, 'w2'),
    ]
    const { taskId } = await expect(other, 'submitted', brief)
    const lost = proxy.loseNextAnswer()
    const answered = leaseFrom(unhearing, 'default')
    await Promise.all([lost, t.rejects(answered, { code: 'CLIENT_DISCONNECTED' })])
    t.strictSame((await historyOf(dataDir, taskId)).slice(0, 2), ['TaskCreated', 'LeaseGranted'])
    const { attempt } = await leaseFrom(other, 'default')
    t.equal(attempt, 2)
    const { attempts } = await getTaskFrom(other, taskId)
    t.match(attempts, [{ workerId: 'w1', outcome: 'EXPIRED' }, { workerId: 'w2' }])
  },
)

t.test('§6.4 the answer to a submission is lost: sent again, it is the same task', async (t) => {
  const { port } = await start(t)
  const proxy = await StallingProxy.open(t, port)
  const link = await connectTo(t, proxy.port, 'w1')
  const lost = proxy.loseNextAnswer()
  const answered = link.request({ ...submit, requestId: 'r' }, { retry: true })
  await lost
  t.match(await answered, { kind: 'submitted', taskId: 1, known: true })
  t.equal((await listTasksFrom(link)).length, 1)
})
