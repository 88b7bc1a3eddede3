import { getTask } from '@tenure/state-machine'
import { Book, sourceOf } from '@tenure/testing-histories'
import t from 'tap'
import { type ExplainOptions, explainTask, History, readTaskHistory } from '../src/index.js'
import { explainRemembered } from '../src/internal.js'

const noon = '2026-01-02 12:0'

async function tell(book: Book, taskId: number, options: ExplainOptions = {}, source = {}) {
  const history = new History(sourceOf(book, source))
  const { asOf: until } = options
  const read = await readTaskHistory(history, taskId, until === undefined ? {} : { until })
  return explainTask(read, options)!
}

/** A task and its first lease. */
function leased(submission: Parameters<Book['submit']>[0] = {}) {
  const book = new Book()
  const task = book.submit(submission)
  return { book, task, first: book.wait(5).lease(task, 'w-7') }
}

t.test('REPORTED_LATE: a worker that is silent and reports too late', async (t) => {
  const { book, task, first } = leased()
  book.wait(10_000).extend(first)
  book.expire(first)
  const second = book.wait(1).lease(task, 'w-8')
  book.wait(3199).cancel(first)
  book.wait(1000).complete(second)
  const told = await tell(book, task)
  t.equal(
    told.summary,
    'Task 1 ran twice because lease 2 of worker w-7 expired 3.2 s before its report arrived; ' +
      'its last heartbeat came 30.0 s before the expiry. Worker w-8 completed it under lease 5. ' +
      'The log proves that worker w-7 kept running: it reported under lease 2 after that lease had expired and ' +
      'lease 5 of worker w-8 had been granted.',
  )
  t.match(told.duplicates, [{ leaseId: 2, workerId: 'w-7', nextLeaseId: 5, confirmed: true }])
  t.match(told.causes, [
    { attempt: 2, kind: 'REPORTED_LATE', leaseId: 2, lateMs: 3200, silenceMs: 30_000 },
  ])
  t.strictSame(told.overlaps, [
    {
      leaseIds: [2, 5],
      certain: true,
      ms: 3199,
      fromAt: book.entries[4]!.record.at,
      untilAt: book.entries[5]!.record.at,
    },
  ])
  const heartbeats = { count: 1, smallestMarginMs: 20_000, longestSilenceMs: 30_000 }
  t.match(told.attempts[0], {
    heartbeats,
    lateReport: { lateMs: 3200, state: 'LEASED', supersededBy: { attempt: 2, leaseId: 5 } },
  })
  t.match(
    told.events.map(({ lsn, what, why }) => [lsn, what, why]),
    [
      [1, 'submitted to queue default', 'a client asked for it'],
      [
        2,
        `lease 2 granted, good for 30.0 s, until ${noon}0:30.005Z`,
        'worker w-7 asked for a task',
      ],
      [3, `1 heartbeat, lease 2 good until ${noon}0:40.005Z`, 'worker w-7 sent a heartbeat'],
      [4, 'lease 2 expired after 40.0 s', '30.0 s had passed since the last heartbeat'],
      [5, /^lease 5 granted/, 'worker w-8 asked for a task'],
      [
        6,
        /^a report under lease 2 .* CANCELLED/,
        'it came 3.2 s after the expiry; attempt 2 (lease 5) owned the task',
      ],
      [7, 'completed under lease 5 after 4.2 s', 'worker w-8 reported it'],
    ],
  )
})

t.test('NO_REPORT: a worker that is never heard of again', async (t) => {
  const { book, task, first } = leased()
  book.expire(first)
  book.wait(100).complete(book.lease(task, 'w-8'))
  const { summary, overlaps, duplicates } = await tell(book, task)
  t.equal(
    summary,
    'Task 1 ran twice because lease 2 of worker w-7 expired and no report came; no heartbeat extended ' +
      'it in the 30.0 s since its grant. Worker w-8 completed it under lease 4. ' +
      'The log does not show whether worker w-7 kept running after lease 2 had expired: it has no report of that attempt.',
  )
  t.match(duplicates, [{ leaseId: 2, nextLeaseId: 4, confirmed: false }])
  t.strictSame(overlaps, [{ leaseIds: [2, 4], fromAt: book.entries[3]!.record.at, certain: false }])
})

t.test('COORDINATOR_DOWN: a coordinator that is down longer than the lease', async (t) => {
  const { book, task, first } = leased()
  book.wait(10_000).extend(first)
  const other = book.wait(2000).submit()
  book.wait(60_000).restart()
  book.expire(first, true)
  const second = book.wait(20).lease(task, 'w-8')
  book.wait(10).cancel(first)
  book.complete(second)
  const told = await tell(book, task)
  t.equal(
    told.summary,
    'Task 1 ran twice because lease 2 of worker w-7 had expired 32.0 s before the coordinator started again ' +
      '(epoch 2), after up to 60.0 s of downtime; a report came 32.0 s after the expiry. ' +
      'Worker w-8 completed it under lease 6. The log proves that worker w-7 kept running: it reported under ' +
      'lease 2 after that lease had expired and lease 6 of worker w-8 had been granted.',
  )
  t.match(told.events[3], {
    kind: 'COORDINATOR_STARTED',
    why: 'no coordinator ran for up to 60.0 s: nothing was recorded in that time',
  })
  t.equal(other, 4)
})

t.test(
  'what was recorded last is known from other tasks only where the log was read',
  async (t) => {
    const { book, task, first } = leased()
    book.wait(20_000).submit()
    book.wait(60_000).restart()
    book.expire(first, true)
    const history = new History(sourceOf(book))
    const read = await readTaskHistory(history, task)
    t.match(explainTask(read)!.causes[0], { downMsMax: 60_000 })
    const openings = read.openings.map(({ lastRecordAt: _, ...opening }) => opening)
    const told = explainTask({ ...read, openings })!
    t.match(told.causes[0], { downMsMax: 80_000 })
    t.match(told.events[2], {
      why: 'no coordinator ran for up to 80.0 s: nothing about this task was recorded in that time',
    })
  },
)

t.test('WINDOW_OVER: an execution window that ends', async (t) => {
  const { book, task, first } = leased({ executionWindowMs: 200 })
  book.wait(100).expire(first)
  book.wait(1200).cancel(first)
  book.lease(task)
  const { summary, events } = await tell(book, task)
  t.match(
    summary,
    'Task 1 is leased for the second time because the execution window of 200 ms ended under lease 2 ' +
      `of worker w-7, and its report came 1.2 s later. Lease 5 of worker w-1 is good until ${noon}`,
  )
  t.match(events[2], {
    what: 'lease 2 expired after 200 ms',
    why: 'its execution window of 200 ms had ended',
  })
  t.match(events[3], { why: 'it came 1.2 s after the expiry; the task was WAITING' })
})

t.test('FAILED: a failure with retries left', async (t) => {
  const backoff = { kind: 'exponential', initialMs: 1000, maxMs: 5000 } as const
  const { book, task, first } = leased({ retryPolicy: { maxRetries: 3, backoff } })
  book.wait(10).fail(first, 'no room\nat all')
  const second = book.wait(1020).lease(task, 'w-8')
  t.match(
    (await tell(book, task)).summary,
    'Task 1 is leased for the second time because worker w-7 reported a failure under lease 2 (“no room…”): this is retry 1 of 3.',
  )
  book.fail(second, 'no')
  const { summary, events, attempts } = await tell(book, task)
  t.match(
    summary,
    `It will be eligible again at ${noon}0:03.035Z because worker w-8 reported a failure under lease 4 (“no”): this is retry 2 of 3.`,
  )
  t.match(summary, /^Task 1 ran twice because worker w-7 [^.]*: this is retry 1 of 3\. It will/)
  t.match(events.at(-1), { notes: [`retry 2 of 3, after 2.0 s: from ${noon}0:03.035Z on`] })
  t.equal(attempts[1]?.waitedMs, 20)
})

t.test('a completed task ran once, even if the answer to its report was lost', async (t) => {
  const { book, task, first } = leased()
  book.wait(10).complete(first, { reportId: 'r' })
  const { summary, causes } = await tell(book, task)
  t.equal(
    summary,
    'Task 1 ran once: worker w-7 completed it 10 ms after it was leased, and it was not leased again.',
  )
  t.strictSame(causes, [])
})

t.test('several causes are counted', async (t) => {
  const { book, task, first } = leased()
  book.expire(first)
  const second = book.lease(task)
  book.wait(10).fail(second, 'no')
  const third = book.wait(1000).lease(task)
  book.wait(40_000).restart()
  book.expire(third, true)
  book.expire(book.lease(task))
  book.complete(book.lease(task, 'w-9'))
  const { summary, causes } = await tell(book, task)
  t.equal(
    summary,
    'Task 1 ran 5 times: 2 leases expired and no report came; 1 lease had expired when the coordinator started ' +
      'again; 1 failure was reported with a retry left. Worker w-9 completed it under lease 10. ' +
      '3 attempts expired and were followed by another. The log does not show whether any of their workers ' +
      'kept running: it has no report of these attempts.',
  )
  t.same(
    causes.map(({ attempt }) => attempt),
    [2, 3, 4, 5],
  )
})

t.test('what proves a duplicate execution, and what does not', async (t) => {
  const before = leased()
  before.book.expire(before.first)
  before.book.wait(10).cancel(before.first)
  const alone = await tell(before.book, before.task)
  t.strictSame(alone.duplicates, [], 'no other worker has run it')
  t.notMatch(alone.summary, /the log proves/i)
  before.book.lease(before.task, 'w-8')
  t.match((await tell(before.book, before.task)).duplicates, [
    {
      confirmed: true,
      evidence:
        /^the log proves .*under lease 2 after that lease had expired, before lease 5 of worker w-8 was granted$/,
    },
  ])

  const killed = leased()
  killed.book.kill(killed.task, 'enough')
  killed.book.cancel(killed.first)
  t.strictSame((await tell(killed.book, killed.task)).duplicates, [], 'a killed task ran once')

  const { book, task, first } = leased()
  book.expire(first)
  const second = book.lease(task, 'w-8')
  book.expire(second)
  book.cancel(second)
  book.complete(book.lease(task, 'w-9'))
  const told = await tell(book, task)
  t.match(
    told.summary,
    '2 attempts expired and were followed by another. The log proves that the worker of lease 4 ' +
      'kept running: it reported after the expiry; it does not show this for the others.',
  )
  t.strictSame(
    told.duplicates.map(({ leaseId, confirmed }) => [leaseId, confirmed]),
    [
      [first, false],
      [second, true],
    ],
  )
  book.cancel(first)
  t.match(
    (await tell(book, task)).summary,
    'The log proves that the workers of leases 2, 4 kept running: they reported after the expiry.',
  )
  const remembered = explainRemembered(getTask(book.state, task)!)
  t.strictSame(
    remembered.duplicates.map(({ leaseId, confirmed }) => [leaseId, confirmed]),
    [
      [first, true],
      [second, true],
    ],
    'the same from what a coordinator remembers',
  )
})

t.test('the summary of a task that has not run says why', async (t) => {
  const book = new Book()
  const waits = book.submit({ queue: 'mail' })
  const later = book.submit({ notBefore: book.now + 60_000 })
  const stopped = book.submit()
  book.kill(stopped, 'enough')
  const now = book.now + 5000
  t.equal(
    (await tell(book, waits, { now })).summary,
    `Task 1 has not run: it has been waiting for 5.0 s since ${noon}0:00.000Z, and no worker of queue mail has leased it.`,
  )
  t.equal(
    (await tell(book, later, { now })).summary,
    `Task 2 has not run: it must not run before ${noon}1:00.000Z, in 55.0 s.`,
  )
  t.equal(
    (await tell(book, stopped)).summary,
    'Task 3 has not run: it was stopped for good (“enough”).',
  )
  t.equal(await tell(book, 99), undefined)
})

t.test('a task that was stopped, or failed for good, and what came after that', async (t) => {
  const { book, task, first } = leased()
  const killed = book.wait(500).kill(task, 'poison: 20 leases in a row expired')
  book.wait(100).cancel(first)
  book.forget(killed)
  const told = await tell(book, task)
  t.equal(
    told.summary,
    'Task 1 ran once. It was stopped for good (“poison: 20 leases in a row expired”).',
  )
  t.match(told.events.slice(2), [
    { kind: 'DEAD', attempt: 1, why: 'reason: poison: 20 leases in a row expired' },
    { kind: 'CANCELLED', why: 'it came 100 ms after the task was stopped; the task was DEAD' },
    { kind: 'FORGOTTEN' },
  ])
  const failing = leased({ retryPolicy: { maxRetries: 0, backoff: { kind: 'fixed', delayMs: 0 } } })
  failing.book.fail(failing.first, 'no')
  t.equal(
    (await tell(failing.book, failing.task)).summary,
    'Task 1 ran once. It failed for good: no retry was left after 1 failure (“no”).',
  )
})

t.test('a TasksForgotten of other tasks is not an event of a waiting task', async (t) => {
  const { book, task, first } = leased()
  const failed = book.fail(first, 'no')
  book.forget(failed)
  const { events } = await tell(book, task)
  t.notOk(events.some(({ kind }) => kind === 'FORGOTTEN'))
})

t.test('the summary as of a moment starts with that moment', async (t) => {
  const { book, task, first } = leased()
  book.expire(first)
  book.lease(task, 'w-8')
  t.match(
    (await tell(book, task, { asOf: { lsn: 2 } })).summary,
    /^As of LSN 2: Task 1 is leased for the first time\./,
  )
  const asOf = { at: book.now - 1 }
  t.match(
    (await tell(book, task, { asOf })).summary,
    /^As of 2026-01-02 12:00:30\.004Z: Task 1 is leased/,
  )
})

t.test('with removed records the summary says what is remembered', async (t) => {
  const { book, task, first } = leased()
  book.wait(10_000).extend(first)
  const expired = book.expire(first)
  const second = book.wait(1).lease(task, 'w-8')
  book.wait(3199).cancel(first)
  book.complete(second)
  const options = { checkpoints: [expired, second], firstLsn: second }
  const told = await tell(book, task, {}, options)
  t.equal(
    told.summary,
    'Task 1 ran twice because lease 2 of worker w-7 expired 3.2 s before its report arrived; ' +
      'it is unknown whether a coordinator was running then. Worker w-8 completed it under lease 5. ' +
      'The log proves that worker w-7 kept running: it reported under lease 2 after that lease had expired and ' +
      'lease 5 of worker w-8 had been granted. ' +
      'The log begins at LSN 5, after task 1 was submitted: earlier events are shown only as far as they are remembered.',
  )
  t.strictSame(told.removed, { firstLsn: second, attempts: 0 })
  t.match(told.attempts[0], { remembered: true, heartbeats: { count: 0, fromLsn: second } })
  t.same(
    told.events.map(({ lsn, remembered = false }) => [lsn, remembered]),
    [
      [1, true],
      [2, true],
      [undefined, true],
      [5, false],
      [6, false],
      [7, false],
    ],
  )
})

t.test('attempts beyond the remembered ones are counted with unknown causes', async (t) => {
  const { book, task, first } = leased()
  book.expire(first)
  for (let attempt = 2; attempt <= 40; attempt++) book.expire(book.lease(task))
  book.complete(book.lease(task, 'w-9'))
  const { summary, causes, removed } = explainRemembered(getTask(book.state, task)!)
  t.match(
    summary,
    'Task 1 ran 41 times: 31 leases expired and no report came; 9 attempts ended in an unknown way.',
  )
  t.match(
    summary,
    "This comes from the coordinator's memory, which contains no heartbeats or restarts. Nothing is remembered of 9 earlier attempts.",
  )
  t.equal(causes.length, 40)
  t.strictSame(removed, { attempts: 9 })
})

t.test('failures whose records were removed are still counted', async (t) => {
  const { book, task, first } = leased()
  book.fail(first, 'no')
  book.expire(book.wait(1000).lease(task))
  for (let attempt = 3; attempt <= 40; attempt++) book.expire(book.lease(task))
  const checkpoint = book.nextLsn - 1
  book.fail(book.lease(task), 'once more')
  const options = { checkpoints: [checkpoint], firstLsn: checkpoint + 1 }
  const { summary, attempts } = await tell(book, task, {}, options)
  t.match(summary, '(“once more”): this is retry 2 of 3.')
  t.match(attempts.at(-1)?.end, { failures: 2, reason: 'once more' })
})

t.test('the record of an end takes precedence over the memory', async (t) => {
  const { book, task, first } = leased()
  const failed = book.fail(first, 'no')
  const options = { checkpoints: [failed], firstLsn: failed }
  const { attempts } = await tell(book, task, {}, options)
  t.match(attempts[0]?.end, { lsn: failed, reason: 'no' })
})

t.test(
  'a forgotten task without its beginning is explained from the remaining records',
  async (t) => {
    const { book, task, first } = leased()
    book.expire(first)
    const second = book.lease(task, 'w-8')
    const completed = book.complete(second)
    book.cancel(first)
    book.forget(completed)
    const options = { checkpoints: [book.nextLsn - 1], firstLsn: 3 }
    const { summary, attempts, state } = await tell(book, task, {}, options)
    t.match(summary, 'Task 1 ran twice because lease 2 expired before its report arrived')
    t.match(attempts, [
      { attempt: 1, leaseId: 2 },
      { attempt: 2, leaseId: 4, workerId: 'w-8' },
    ])
    t.equal(state, 'COMPLETED')
    const less = await tell(book, task, {}, { ...options, firstLsn: 6 })
    t.match(
      less.summary,
      /^Task 1 ran at least once\. Its current state is unknown\. The log begins at LSN 6/,
    )
  },
)

t.test(
  'nothing is claimed about the time between two leases that are not remembered',
  async (t) => {
    const { book, task, first } = leased()
    book.expire(first)
    const second = book.lease(task)
    const removed = book.expire(second)
    book.wait(10).cancel(first)
    book.wait(10).cancel(second)
    const third = book.wait(10).lease(task, 'w-8')
    book.forget(book.complete(third))
    const options = { checkpoints: [book.nextLsn - 1], firstLsn: removed + 1 }
    const { attempts, causes, overlaps, runs } = await tell(book, task, {}, options)
    t.equal(runs, 3)
    t.match(attempts, [{ leaseId: first }, { leaseId: second }, { leaseId: third, attempt: 3 }])
    for (const { lateReport, supersededBy, attempt } of attempts.slice(0, 2)) {
      t.strictSame([supersededBy, attempt], [undefined, undefined])
      t.strictSame(Object.keys(lateReport!), ['lsn', 'at'])
    }
    t.strictSame(
      causes.map(({ attempt, kind, leaseId }) => [attempt, kind, leaseId]),
      [
        [2, 'NOT_KNOWN', undefined],
        [3, 'NOT_KNOWN', undefined],
      ],
    )
    t.strictSame(overlaps, [])
  },
)

t.test('a task is not stopped under a lease whose late report came before', async (t) => {
  const { book, task, first } = leased()
  const expired = book.expire(first)
  book.wait(10).cancel(first)
  book.wait(10).kill(task, 'enough')
  const { events, attempts, state } = await tell(book, task, {}, { firstLsn: expired + 1 })
  t.equal(state, 'DEAD')
  t.match(events, [
    { kind: 'CANCELLED', why: 'its lease was lost' },
    { kind: 'DEAD', what: 'stopped for good' },
  ])
  t.strictSame(Object.keys(attempts[0]!.lateReport!), ['lsn', 'at'])
  t.notOk('end' in attempts[0]!)
})

t.test('a silence during a downtime is not attributed to the worker alone', async (t) => {
  const { book, task, first } = leased()
  book.wait(29_000).restart()
  book.expire(first)
  book.lease(task, 'w-8')
  t.match(
    (await tell(book, task)).summary,
    'expired and no report came; no heartbeat extended it in the 30.0 s since its grant, ' +
      'and for up to 29.0 s of that no coordinator was running.',
  )
})

t.test('an unknown cause is not shown as a reason', async (t) => {
  const { book, task, first } = leased()
  book.expire(first)
  const second = book.lease(task, 'w-8')
  book.complete(second)
  const { summary, events } = await tell(book, task, {}, { firstLsn: second })
  t.match(summary, /^Task 1 ran twice; the end of the previous attempt is unknown\. Worker w-8 /)
  t.match(events[0], { notes: ['again; the end of the previous attempt is unknown'] })
})
