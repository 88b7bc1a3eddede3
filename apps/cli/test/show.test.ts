import t from 'tap'
import { type Look, plain } from '../src/terminal/look.js'
import { showProgress } from '../src/terminal/progress.js'
import { widthOf } from '../src/terminal/text.js'
import { showTask } from '../src/verbs/get.js'
import { showTasks } from '../src/verbs/list.js'
import { showStats } from '../src/verbs/stats/show.js'
import { showEnd } from '../src/verbs/wait.js'
import { showWorkers } from '../src/verbs/workers.js'
import { attempt, narrow, noon, onTerminal, stats, task, tasks, workers } from './facts.js'
import { golden } from './golden.js'

const attempts = [
  attempt({ outcome: 'EXPIRED', endedAt: noon + 30_005, cancelled: true }),
  attempt({
    attempt: 2,
    leaseId: 21,
    workerId: '構築-815',
    outcome: 'FAILED',
    endedAt: noon + 31_010,
  }),
  attempt({ attempt: 3, leaseId: 1_234_567, grantedAt: noon + 3_600_000 }),
]
const full = task({
  state: 'LEASED',
  attempt: 3,
  stateSince: noon + 3_600_000,
  attempts,
  requestId: 'order-17',
  workerId: 'build-4711',
  leaseExpiry: noon + 3_630_000,
  payload: Buffer.from('{"to":"ada@example.org"}'),
  reason: 'no room\nat all \u001b[2J',
})

/** Each in a file, on a terminal with colours and in a pipe. */
function shows(name: string, show: (look: Look) => string): void {
  t.test(`${name} is shown as ever`, async (t) => {
    golden(t, `show/${name}`, show(plain))
    golden(t, `show/${name}-on-a-terminal`, show(onTerminal))
    t.notMatch(show(plain), /[^\P{Cc}\n]/u, 'nothing in it does anything')
    const tooLong = (columns: number) => (line: string) => widthOf(line) > columns
    t.same(show(plain).split('\n').filter(tooLong(100)), [], 'within a hundred columns')
  })
}

shows('task', (look) => showTask(full, look))
shows('task-not-run', (look) => showTask(task({ payload: Buffer.from([0, 255]) }), look))
shows('tasks', (look) => showTasks(tasks, look, { heads: true }))
shows('workers', (look) => showWorkers(workers, noon, look))
shows('stats', (look) => showStats(stats, look))

t.test('on a narrow terminal names give way, and numbers do not', async (t) => {
  golden(t, 'show/tasks-narrow', showTasks(tasks, narrow, { heads: true }))
})

t.test('a page of tasks that is not the first one has no heads', async (t) => {
  const [, ...rows] = showTasks(tasks, plain, { heads: true }).split('\n')
  t.equal(showTasks(tasks, plain, { heads: false }), rows.join('\n'))
})

t.test('an older coordinator tells less, and that is shown', async (t) => {
  const { startedAt, epoch, connections, waitingPolls, lines, linesLeftOut, ...rest } = stats
  const { diskFull, diskFreeBytes, counters, ...others } = rest
  const { refusedReports, ...olderCounters } = counters
  const older = { ...others, counters: olderCounters }
  const [{ tasks: held, queues, ...worker }] = workers as [(typeof workers)[0]]
  golden(t, 'show/stats-of-an-older-coordinator', showStats(older as never, plain))
  golden(t, 'show/workers-of-an-older-coordinator', showWorkers([worker as never], noon, plain))
})

t.test(
  'when a worker was heard of last is not known where the coordinator does not say',
  async (t) => {
    const [worker] = workers as [(typeof workers)[0]]
    t.match(showWorkers([{ ...worker, lastHeardAt: 0 }], noon, plain), / not known /)
  },
)

t.test('of a worker that states no capacity only what it holds is shown', async (t) => {
  const [worker] = workers as [(typeof workers)[0]]
  t.match(showWorkers([worker], noon, plain), / 12 of 8 /)
  t.match(showWorkers([{ ...worker, capacity: 0 }], noon, plain), / 12 {2,}250 ms ago/)
})

t.test('the end of a task is a line', async (t) => {
  const ended = [
    task({ state: 'COMPLETED', result: Buffer.from('done'), reason: 'an attempt before' }),
    task({ state: 'COMPLETED' }),
    task({ state: 'FAILED', reason: 'no room' }),
    task({ state: 'DEAD', reason: '3 leases in a row expired' }),
  ]
  golden(t, 'show/ends', ended.map((task) => `${showEnd(task)}\n`).join(''))
})

t.test('progress says how much, how fast, and for how long still', async (t) => {
  const lines = [
    showProgress({ count: 1, elapsedMs: 2000 }, 'line'),
    showProgress({ count: 12_345, elapsedMs: 2000 }, 'line'),
    showProgress({ count: 12_345, elapsedMs: 2000, share: 0.25 }, 'line'),
    showProgress({ count: 0, elapsedMs: 2000, share: 0 }, 'line'),
    showProgress({ count: 49_380, elapsedMs: 8000, share: 1 }, 'line'),
  ]
  golden(t, 'show/progress', `${lines.join('\n')}\n`)
})
