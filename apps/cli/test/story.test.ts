import type { Attempt, Task } from '@tenure/client'
import t from 'tap'
import { showStory, tellStory } from '../src/story.js'

// Times in these stories are milliseconds after noon.
const noon = Date.UTC(2026, 0, 2, 12)

type Told = Omit<Partial<Attempt>, 'grantedAt' | 'endedAt'> & { from: number; to?: number }

function attempt(own: Told): Attempt {
  const { from, to, attempt = 1, ...rest } = own
  return {
    ...{ attempt, leaseId: attempt * 10, workerId: `w${attempt}`, cancelled: false },
    ...{ grantedAt: noon + from, leaseExpiry: noon + from + 30_000, outcome: 'RUNNING' },
    ...(to !== undefined && { endedAt: noon + to }),
    ...rest,
  }
}

function task(own: Partial<Task>): Task {
  const { attempts = [] } = own
  return {
    ...{ taskId: 17, queue: 'mail', state: 'COMPLETED', attempt: attempts.length, attempts },
    ...{ currentLeaseId: null, executionWindowMs: 3_600_000, failures: 0, expiriesInARow: 0 },
    retryPolicy: { maxRetries: 3, backoff: { kind: 'fixed', delayMs: 5000 } },
    ...{ createdAt: noon, stateSince: noon },
    ...own,
  }
}

const show = (own: Partial<Task>) => showStory(tellStory(task(own)))
const summaryOf = (own: Partial<Task>) => tellStory(task(own)).summary

t.test('a task that has not run waits for a worker', async (t) => {
  t.equal(
    show({ state: 'WAITING', eligibleAt: noon }),
    [
      'Task 17 has not run: it waits for a worker of queue mail.',
      '',
      '2026-01-02 12:00:00.000Z      submitted to queue mail',
      '',
    ].join('\n'),
  )
})

t.test('a task that is delayed says until when', async (t) => {
  t.equal(
    summaryOf({ state: 'WAITING', eligibleAt: noon + 600_000 }),
    'Task 17 has not run: it waits for a worker of queue mail from 2026-01-02 12:10:00.000Z on.',
  )
})

t.test('a task that runs says where, and how long its lease is good', async (t) => {
  const text = show({ state: 'LEASED', attempts: [attempt({ from: 5 })] })
  t.match(text, 'Task 17 ran once. It is leased to worker w1 until 2026-01-02 12:00:30.005Z.\n')
  t.match(text, /12:00:00\.005Z {2}\+5 ms {2}attempt 1 {2}lease 10 to worker w1\n/)
  t.match(text, /\n {44}runs; lease good until 2026-01-02 12:00:30\.005Z\n$/)
})

t.test('a task that ran once was completed', async (t) => {
  const attempts = [attempt({ from: 5, to: 2005, outcome: 'COMPLETED' })]
  t.equal(
    show({ attempts }),
    [
      'Task 17 ran once. It was completed by worker w1.',
      '',
      '2026-01-02 12:00:00.000Z                     submitted to queue mail',
      '2026-01-02 12:00:00.005Z  +5 ms   attempt 1  lease 10 to worker w1',
      '2026-01-02 12:00:02.005Z  +2.0 s  attempt 1  completed after 2.0 s',
      '',
    ].join('\n'),
  )
})

const second = attempt({ attempt: 2, from: 30_010, to: 31_010, outcome: 'COMPLETED' })

t.test('a task ran twice because a lease expired and nobody reported', async (t) => {
  const attempts = [attempt({ from: 5, to: 30_005, outcome: 'EXPIRED' }), second]
  const text = show({ attempts })
  t.match(
    text,
    /^Task 17 ran twice: lease 10 of worker w1 expired without a report\. It was completed by worker w2\.\n/,
  )
  t.match(text, /attempt 1 {2}the lease expired after 30\.0 s\n {46}no report came: how far/)
})

t.test('a report that came too late tells that the work was done', async (t) => {
  const attempts = [attempt({ from: 5, to: 30_005, outcome: 'EXPIRED', cancelled: true }), second]
  const text = show({ attempts })
  t.match(text, /ran twice: lease 10 of worker w1 expired before its report arrived\. It was/)
  t.match(
    text,
    /\n {46}a report came later and was CANCELLED:\n {46}the work was done, its result dropped\n/,
  )
})

t.test('a task ran twice because an attempt failed', async (t) => {
  const attempts = [attempt({ from: 5, to: 1005, outcome: 'FAILED' }), second]
  const text = show({ attempts, failures: 1 })
  t.match(
    text,
    /^Task 17 ran twice: worker w1 reported a failure under lease 10\. It was completed/,
  )
  t.match(text, 'attempt 1  reported a failure after 1.0 s\n')
})

t.test('a task that waits to run again says why', async (t) => {
  const attempts = [attempt({ from: 5, to: 1005, outcome: 'FAILED' })]
  const times = { stateSince: noon + 1005, eligibleAt: noon + 6005 }
  t.equal(
    summaryOf({ state: 'WAITING', attempts, failures: 1, ...times }),
    'Task 17 ran once. It waits again for a worker of queue mail from 2026-01-02 12:00:06.005Z on, ' +
      'since worker w1 reported a failure under lease 10.',
  )
})

t.test('a task that failed for good says how often, and why', async (t) => {
  const attempts = [1, 2, 3].map((at) => {
    return attempt({ attempt: at, from: at * 1000, to: at * 1000 + 500, outcome: 'FAILED' })
  })
  const reason = 'exit code 1: no\nmore'
  const text = show({ state: 'FAILED', attempts, failures: 3, reason, stateSince: noon + 3500 })
  t.match(text, /^Task 17 ran 3 times: 2 attempts failed\. It failed for good: exit code 1: no\.\n/)
  t.match(text, /FAILED for good after 3 failures, no retry left: exit code 1: no\n {46}more\n$/)
})

t.test('a task that was stopped says by what', async (t) => {
  const attempts = [attempt({ from: 5, to: 1005, outcome: 'DEAD' })]
  const own = { state: 'DEAD', attempts, stateSince: noon + 1005 } as const
  const text = show({ ...own, reason: 'not needed' })
  t.match(text, 'Task 17 ran once. It was stopped for good: not needed.\n')
  t.match(text, 'attempt 1  the task was stopped under it after 1.0 s\n')
  t.match(text, /DEAD: not needed\n$/)
  t.match(show({ ...own, attempts: [] }), /^Task 17 has not run: it was stopped for good\.\n/)
  t.match(show({ ...own, attempts: [] }), /DEAD\n$/)
})

t.test('a task that kept losing its lease was stopped as poison', async (t) => {
  const attempts = [1, 2, 3].map((at) => {
    return attempt({ attempt: at, from: at * 100, to: at * 100 + 50, outcome: 'EXPIRED' })
  })
  const reason = '3 leases in a row expired'
  t.equal(
    summaryOf({ state: 'DEAD', attempts, reason, expiriesInARow: 3 }),
    `Task 17 ran 3 times: 2 leases expired. It was stopped for good: ${reason}.`,
  )
})

t.test('of more attempts than are remembered it says how many are not', async (t) => {
  const attempts = Array.from({ length: 32 }, (_, at) => {
    const outcome = at === 31 ? 'COMPLETED' : at % 2 === 0 ? 'EXPIRED' : 'FAILED'
    return attempt({ attempt: at + 9, from: at * 1000, to: at * 1000 + 500, outcome })
  })
  const text = show({ attempts, attempt: 40 })
  t.match(
    text,
    'Task 17 ran 40 times: 16 leases expired, 15 attempts failed, 8 older attempts are not remembered.',
  )
  t.match(text, '\n\n(The 8 oldest attempts are not remembered.)\n2026-01-02')
  const one = show({ attempts: attempts.slice(-2), attempt: 3 })
  t.match(one, 'ran 3 times: 1 lease expired, 1 older attempt is not remembered. It was')
})

t.test(
  'a story fits in 100 columns, and a long reason stands in full only at its end',
  async (t) => {
    const name = 'build-host-0123456789-12345'
    const attempts = [
      attempt({
        from: 5,
        to: 30_005,
        outcome: 'EXPIRED',
        cancelled: true,
        leaseId: 1_234_567,
        workerId: name,
      }),
      attempt({ attempt: 2, from: 40_000, outcome: 'RUNNING', leaseId: 2_345_678, workerId: name }),
    ]
    const [, ...rows] = show({ state: 'LEASED', attempts }).split('\n')
    t.same(
      rows.filter((row) => row.length > 100),
      [],
    )
    const reason = 'x'.repeat(200)
    const text = show({ state: 'FAILED', attempts: [], attempt: 0, reason })
    t.match(text, `failed for good: ${'x'.repeat(59)}….\n`)
    t.match(text, `no retry left: ${reason}\n`)
  },
)

t.test('what others have written does nothing to a terminal', async (t) => {
  const workerId = 'w\u001b[31m1\u202e'
  const attempts = [attempt({ from: 5, to: 10, outcome: 'FAILED', workerId })]
  const text = show({ state: 'FAILED', queue: 'q\u0007\n', attempts, reason: 'a\u009b2J\rb' })
  t.notMatch(text, /[^\P{Cc}\n]|\u202e/u)
  t.match(text, 'to worker w\\u001b[31m1\\u202e\n')
  t.match(text, 'submitted to queue q\\u0007')
})
