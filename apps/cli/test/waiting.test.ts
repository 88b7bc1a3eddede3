import { type Task, type Tenure, TenureError, type WaitOptions } from '@tenure/client'
import t from 'tap'
import { plain } from '../src/terminal/display.js'
import { awaitingEnds } from '../src/verbs/wait.js'
import { answerWhy, describeUnserved, showWhy } from '../src/verbs/why.js'
import { noon, onTerminal, why } from './facts.js'
import { golden } from './golden.js'

const lease = {
  leaseId: 18,
  workerId: 'build-4711',
  attempt: 2,
  grantedAt: noon - 10_000,
  leaseExpiry: noon + 20_000,
  windowEnd: noon + 3_590_000,
}
const waiting = { eligibleAt: noon - 60_000, ahead: 0 }
const asked = { queueLastAskedAt: noon - 200 }

/** Every reason for a task not to run now. */
const reasons = {
  delayed: why({ eligibleAt: noon + 600_000 }),
  behind: why({ ...waiting, ...asked, ahead: 12 }),
  'behind-one': why({ ...waiting, ...asked, ahead: 1 }),
  'behind-many': why({ ...waiting, ...asked, ahead: 10_000, aheadIsMore: true }),
  next: why({ ...waiting, ...asked }),
  'about-to-run': why({ ...waiting, ...asked, pollsWaiting: 2 }),
  'not-run-by-full-workers': why({ ...waiting, ...asked, pollsWaiting: 2, pollsAreFull: true }),
  unserved: why(waiting),
  'unserved-for-long': why({ ...waiting, queueLastAskedAt: noon - 120_000 }),
  running: why({ state: 'LEASED', lease, workerLastHeardAt: noon - 3000 }),
  'lost-by-its-worker': why({
    state: 'LEASED',
    lease: { ...lease, leaseExpiry: noon - 5000 },
    workerLastHeardAt: noon - 40_000,
  }),
  'lost-over-a-restart': why({
    state: 'LEASED',
    lease: { ...lease, leaseExpiry: noon - 5000 },
  }),
  completed: why({ state: 'COMPLETED' }),
  failed: why({ state: 'FAILED' }),
}

for (const [name, facts] of Object.entries(reasons)) {
  t.test(`why of a task: ${name}`, async (t) => {
    golden(t, `why/${name}`, showWhy(17, facts, plain))
  })
}

t.test('why has colours on a terminal', async (t) => {
  golden(t, 'why/running-on-a-terminal', showWhy(17, reasons.running, onTerminal))
})

t.test('wait warns only if the queue probably has no workers', async (t) => {
  const warned = Object.entries(reasons).flatMap(([name, facts]) => {
    return describeUnserved(17, facts) === undefined ? [] : [name]
  })
  t.same(warned, ['unserved', 'unserved-for-long'])
  const started = why({ ...waiting, startedAt: noon - 2000 })
  t.equal(describeUnserved(17, started), undefined, 'workers reconnect after a restart')
  golden(t, 'why/warning', `${describeUnserved(17, reasons.unserved)}\n`)
})

t.test('names in an answer cannot control the terminal', async (t) => {
  const evil = why({ ...waiting, queue: 'q\u001b[2J' })
  t.match(showWhy(17, evil, plain), 'queue q\\u001b[2J')
  t.match(describeUnserved(17, evil), '--queues q\\u001b[2J?')
  t.match(answerWhy(17, evil), 'q\u001b[2J', 'JSON gets the raw text')
})

const dayMs = 86_400_000
const completed = { taskId: 1, state: 'COMPLETED' } as Task
const running = { taskId: 1, state: 'LEASED' } as Task

/** A client with one task, a stopped clock, and the recorded waits. */
function waitOver(timeoutMs: number | undefined, task: Task, tookMs = 0) {
  const waits: WaitOptions[] = []
  let now = 5000
  const tenure = {
    why: async () => {
      throw new TenureError('CLIENT_DISCONNECTED', 'not connected')
    },
    get: async () => task,
    waitFor: async (_: number, options: WaitOptions) => {
      waits.push(options)
      now += tookMs
      if (task.state === 'COMPLETED') return task
      throw new TenureError('CLIENT_TIMEOUT', 'timeout')
    },
  }
  const stderr = { fd: 2, write: () => {} }
  const action = awaitingEnds(tenure as unknown as Tenure, timeoutMs, { stderr }, () => now)
  return { action, waits }
}

t.test('a timeout above the maximum of a Node.js timer is kept', async (t) => {
  // Above 2^31 - 1 ms a timer fires immediately, and above 2^32 - 1 ms AbortSignal.timeout throws.
  for (const timeoutMs of [30 * dayMs, 60 * dayMs, 2 ** 45]) {
    const { action, waits } = waitOver(timeoutMs, completed)
    t.equal(await action.act(1), completed)
    t.same(waits, [{ timeoutMs }])
  }
})

t.test('the timeout covers all tasks, and ended tasks are shown even after it', async (t) => {
  const { action, waits } = waitOver(100, completed, 60)
  for (const taskId of [1, 2, 3]) await action.act(taskId)
  t.same(waits, [{ timeoutMs: 100 }, { timeoutMs: 40 }, { timeoutMs: 1 }])
  const { action: tooLong } = waitOver(100, running)
  await t.rejects(tooLong.act(17), { code: 'TIMEOUT', exitCode: 3, message: /100ms/ })
})

t.test('without a timeout it waits forever', async (t) => {
  const { action, waits } = waitOver(undefined, completed)
  await action.act(1)
  t.same(waits, [{ timeoutMs: Number.POSITIVE_INFINITY }])
})
