import { type Explanation, explainTask, History, readTaskHistory } from '@tenure/history'
import { explainRemembered } from '@tenure/history/internal'
import { getTask } from '@tenure/state-machine'
import { Book, sourceOf } from '@tenure/testing-histories'
import t from 'tap'
import { type Display, plain } from '../src/terminal/display.js'
import { showProgress } from '../src/terminal/progress.js'
import { widthOf } from '../src/terminal/text.js'
import { showExplanation } from '../src/verbs/explain/show.js'
import { showTask } from '../src/verbs/get.js'
import { showTasks } from '../src/verbs/list.js'
import { showStats } from '../src/verbs/stats/show.js'
import { showEnd } from '../src/verbs/wait.js'
import { ratesBetween } from '../src/verbs/watch/sample.js'
import { showFrame, showInterval } from '../src/verbs/watch/show.js'
import { Screen } from '../src/verbs/watch/views.js'
import { showWorkers } from '../src/verbs/workers.js'
import {
  attempt,
  narrow,
  noon,
  onTerminal,
  stats,
  statsLater,
  task,
  tasks,
  workers,
} from './facts.js'
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

/** Compares the output for a file and for a terminal with golden files. */
function shows(name: string, show: (display: Display) => string): void {
  t.test(`the output of ${name}`, async (t) => {
    golden(t, `show/${name}`, show(plain))
    golden(t, `show/${name}-on-a-terminal`, show(onTerminal))
    t.notMatch(show(plain), /[^\P{Cc}\n]/u, 'no control characters')
    const tooLong = (columns: number) => (line: string) => widthOf(line) > columns
    t.same(show(plain).split('\n').filter(tooLong(100)), [], 'within a hundred columns')
  })
}

shows('task', (display) => showTask(full, display))
shows('task-not-run', (display) => showTask(task({ payload: Buffer.from([0, 255]) }), display))
shows('tasks', (display) => showTasks(tasks, display, { heads: true }))
shows('workers', (display) => showWorkers(workers, noon, display))
shows('stats', (display) => showStats(stats, display))

t.test('on a narrow terminal names are cut, but not numbers', async (t) => {
  golden(t, 'show/tasks-narrow', showTasks(tasks, narrow, { heads: true }))
})

t.test('only the first page of tasks has heads', async (t) => {
  const [, ...rows] = showTasks(tasks, plain, { heads: true }).split('\n')
  t.equal(showTasks(tasks, plain, { heads: false }), rows.join('\n'))
})

t.test('the answers of an older coordinator are shown', async (t) => {
  const { startedAt, epoch, connections, waitingPolls, lines, linesLeftOut, ...rest } = stats
  const { diskFull, diskFreeBytes, counters, ...others } = rest
  const { refusedReports, ...olderCounters } = counters
  const older = { ...others, counters: olderCounters }
  const [{ tasks: held, queues, ...worker }] = workers as [(typeof workers)[0]]
  golden(t, 'show/stats-of-an-older-coordinator', showStats(older as never, plain))
  golden(t, 'show/workers-of-an-older-coordinator', showWorkers([worker as never], noon, plain))
})

t.test(
  'the last contact of a worker is unknown if the coordinator does not report it',
  async (t) => {
    const [worker] = workers as [(typeof workers)[0]]
    t.match(showWorkers([{ ...worker, lastHeardAt: 0 }], noon, plain), / unknown /)
  },
)

t.test('a worker without a capacity shows only its leases', async (t) => {
  const [worker] = workers as [(typeof workers)[0]]
  t.match(showWorkers([worker], noon, plain), / 12 of 8 /)
  t.match(showWorkers([{ ...worker, capacity: 0 }], noon, plain), / 12 {2,}250 ms ago/)
})

t.test('the end of a task is one line', async (t) => {
  const ended = [
    task({ state: 'COMPLETED', result: Buffer.from('done'), reason: 'an attempt before' }),
    task({ state: 'COMPLETED' }),
    task({ state: 'FAILED', reason: 'no room' }),
    task({ state: 'DEAD', reason: '3 leases in a row expired' }),
  ]
  golden(t, 'show/ends', ended.map((task) => `${showEnd(task)}\n`).join(''))
})

t.test('progress shows count, rate and remaining time', async (t) => {
  const lines = [
    showProgress({ count: 1, elapsedMs: 2000 }, 'line'),
    showProgress({ count: 12_345, elapsedMs: 2000 }, 'line'),
    showProgress({ count: 12_345, elapsedMs: 2000, share: 0.25 }, 'line'),
    showProgress({ count: 0, elapsedMs: 2000, share: 0 }, 'line'),
    showProgress({ count: 49_380, elapsedMs: 8000, share: 1 }, 'line'),
  ]
  golden(t, 'show/progress', `${lines.join('\n')}\n`)
})

async function explain(book: Book, taskId: number): Promise<Explanation> {
  return explainTask(await readTaskHistory(new History(sourceOf(book)), taskId), { now: book.now })!
}

/** A task that goes through every kind of event, with hostile names. */
function hardLife() {
  const book = new Book()
  for (let other = 0; other < 9_990; other++) book.submit()
  const task = book.wait(5).submit({
    queue: 'mail',
    requestId: 'order-17',
    notBefore: book.now + 2000,
    executionWindowMs: 60_000,
    retryPolicy: { maxRetries: 1, backoff },
  })
  const first = book.wait(2500).lease(task, 'build-host-0123456789-12345')
  book.wait(10_000).extend(first)
  book.wait(25_000).extend(first)
  book.expire(first)
  const second = book.wait(20).lease(task, '構築-815')
  book.wait(3180).cancel(first)
  book
    .wait(1000)
    .fail(second, 'no room\nat all \u001b[2J, and this goes on for longer than any line is wide')
  const third = book.wait(1500).lease(task, 'w-3')
  book.wait(90_000).restart()
  book.expire(third, true)
  const last = book.wait(1).lease(task, 'w-4')
  book.wait(500).fail(last, 'no room')
  return { book, task }
}

const backoff = { kind: 'fixed', delayMs: 1000 } as const

t.test('the output of explain for every kind of event', async (t) => {
  const { book, task } = hardLife()
  const told = await explain(book, task)
  golden(t, 'explain/hard-life', showExplanation(told, plain))
  golden(t, 'explain/hard-life-on-a-terminal', showExplanation(told, onTerminal))
})

t.test('an explanation fits in 100 columns and cannot control the terminal', async (t) => {
  const { book, task } = hardLife()
  const shown = showExplanation(await explain(book, task), plain)
  t.same(
    shown.split('\n').filter((line) => widthOf(line) > 100),
    [],
  )
  t.notMatch(shown, /[^\P{Cc}\n]/u)
})

t.test('remembered events are marked', async (t) => {
  const { book, task } = hardLife()
  golden(
    t,
    'explain/from-memory',
    showExplanation(explainRemembered(getTask(book.state, task)!), plain),
  )
})

const before = { stats, workers: { workers, leftOut: 0 } }
const after = { stats: statsLater, workers: { workers, leftOut: 0 } }
const rates = ratesBetween(before, after)
const intervalMs = 5000

t.test('rates are per second of the coordinator clock', async (t) => {
  t.same(rates, {
    submitted: 1200,
    leased: 120,
    completed: 117.8,
    retried: 0,
    failed: 0,
    stopped: 0,
    expired: 0,
  })
  const none = Object.fromEntries(Object.keys(rates).map((name) => [name, 0]))
  t.same(ratesBetween(after, before), none, 'a clock that was set back makes no rate negative')
  const anew = { stats: { ...statsLater, counters: { ...stats.counters, tasksCreated: 1 } } }
  t.same(ratesBetween(before, anew), none, 'nor does another log')
})

t.test('a frame has rates, states, queues and workers', async (t) => {
  golden(t, 'watch/frame', showFrame({ sample: after, rates, intervalMs }, plain))
  golden(
    t,
    'watch/frame-on-a-terminal',
    showFrame({ sample: after, rates, intervalMs }, onTerminal),
  )
})

t.test('the first frame has no rates yet, and without the role admin no workers', async (t) => {
  golden(t, 'watch/first-frame', showFrame({ sample: { stats }, intervalMs }, plain))
})

t.test('without an answer, the last frame stays below a warning', async (t) => {
  const trouble = 'no answer within 2000 ms \u001b[2J'
  golden(t, 'watch/trouble', showFrame({ sample: after, rates, intervalMs, trouble }, plain))
})

t.test('a frame fits the height and width of the terminal', async (t) => {
  const frame = { sample: after, rates, intervalMs }
  const low = showFrame(frame, plain, 8)
  golden(t, 'watch/low-frame', low)
  t.equal(low.trimEnd().split('\n').length, 8)
  const lines = showFrame(frame, { columns: 72, colours: false }).split('\n')
  t.same(
    lines.filter((line) => widthOf(line) > 72),
    [],
  )
})

t.test('without a terminal, each interval is one line, with occasional heads', async (t) => {
  const lines =
    showInterval({ sample: after, rates }, true) + showInterval({ sample: after, rates }, false)
  golden(t, 'watch/lines', lines)
  t.same(
    lines.split('\n').filter((line) => widthOf(line) > 100),
    [],
  )
})

t.test('a screen is rewritten in place, below earlier output', async (t) => {
  const written: string[] = []
  const screen = new Screen({ fd: 1, isTTY: true, write: (text) => written.push(String(text)) })
  screen.draw('one\ntwo\nthree\n')
  screen.draw('ONE\n')
  screen.end()
  golden(t, 'watch/screen', written.join(''))
})

t.test('a screen that was never drawn needs no cleanup', async (t) => {
  const written: string[] = []
  new Screen({ fd: 1, write: (text) => written.push(String(text)) }).end()
  t.same(written, [])
})
