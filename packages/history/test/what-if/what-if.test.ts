import { getCounters } from '@tenure/state-machine'
import { QuietChecks, Random } from '@tenure/testing'
import { Book } from '@tenure/testing-histories'
import t from 'tap'
import { type ForecastOptions, forecast, type WhatIfKnobs } from '../../src/index.js'
import { AttemptTracker } from '../../src/internal.js'
import { Forecaster } from '../../src/what-if/forecaster.js'
import { judge } from '../../src/what-if/judgement.js'
import { Outages } from '../../src/what-if/outages.js'
import { Durations } from '../../src/what-if/spread.js'
import { naiveForecast } from './naive.js'
import { randomBook, recordedKnobs } from './random-book.js'

const leaseMs = 10_000

function whatIf(book: Book, knobs: WhatIfKnobs, options: ForecastOptions = {}) {
  return forecast([book.entries], knobs, { openings: book.openings, ...options })
}

/**
 * With a lease of 10 s, the worker is silent for 12 s after one heartbeat, and its report comes too
 * late.
 */
function silentFor12s() {
  const book = new Book({ leaseMs })
  const task = book.submit()
  const first = book.lease(task, 'slow')
  book.wait(3000).extend(first)
  book.expire(first)
  const second = book.wait(500).lease(task, 'quick')
  book.wait(1500).cancel(first)
  book.wait(1000).complete(second)
  return { book, task, first, second }
}

t.test('a silence of 12 s loses a lease of 10 s, but not one of 15 s', async (t) => {
  const { book, task, first } = silentFor12s()
  const told = await whatIf(book, { leaseDurationMs: 15_000 })
  t.match(told.recorded, { executions: 2, leasesExpired: 1, tasksRunAgain: 1, lateReports: 1 })
  t.match(told.underKnobs, { executions: 1, leasesExpired: 0, tasksRunAgain: 0, lateReports: 0 })
  t.same(told.recorded.recovery, { count: 1, medianMs: 10_000, p99Ms: 10_000, maxMs: 10_000 })
  t.same(told.underKnobs.recovery, { count: 0 })
  t.equal(told.lateReportsAccepted, 1)
  t.same(told.differences, [{ cause: 'LEASE_HELD', tasks: 1, executions: -1, leasesExpired: -1 }])
  t.match(told.examples, [
    { cause: 'LEASE_HELD', taskId: task, attempt: 1, leaseId: first, workerId: 'slow' },
  ])
})

t.test('the lateness of a worker is carried over, not the length of its silence', async (t) => {
  const { book } = silentFor12s()
  // 12 s are 8.667 s past a heartbeat of a lease of 10 s; 4.333 s + 8.667 s reach 13 s.
  t.equal((await whatIf(book, { leaseDurationMs: 13_000 })).underKnobs.leasesExpired, 1)
  t.equal((await whatIf(book, { leaseDurationMs: 13_002 })).underKnobs.leasesExpired, 0)
  const halves = { leaseDurationMs: 13_002, heartbeatShare: 0.5 }
  t.equal((await whatIf(book, halves)).underKnobs.leasesExpired, 1)
})

t.test('a worker that is never heard of again loses every lease', async (t) => {
  const book = new Book({ leaseMs })
  const task = book.submit()
  book.expire(book.lease(task))
  book.wait(10).complete(book.lease(task))
  for (const leaseDurationMs of [1000, 15_000, 60_000]) {
    const { recorded, underKnobs } = await whatIf(book, { leaseDurationMs })
    t.equal(underKnobs.executions, recorded.executions)
    t.equal(underKnobs.recovery.maxMs, leaseDurationMs)
  }
})

t.test('a shorter lease is lost in a silence that the recorded one survived', async (t) => {
  const book = new Book({ leaseMs })
  const task = book.submit()
  const lease = book.lease(task)
  book.wait(9000).extend(lease)
  book.wait(1000).complete(lease)
  const told = await whatIf(book, { leaseDurationMs: 8000 })
  t.match(told.underKnobs, { executions: 2, leasesExpired: 1, lateReports: 1, tasksUnknown: 1 })
  t.match(told.differences, [{ cause: 'LEASE_LOST', tasks: 1, executions: 1, leasesExpired: 1 }])
  t.match(told.examples, [{ recorded: { end: 'COMPLETED' }, underKnobs: { end: 'UNKNOWN' } }])
})

t.test(
  'a heartbeat in time for the recorded lease is not a silence under a shorter one',
  async (t) => {
    const book = new Book({ leaseMs: 30_000 })
    const lease = book.lease(book.submit())
    book.wait(10_000).extend(lease)
    book.wait(10_000).complete(lease)
    t.equal((await whatIf(book, { leaseDurationMs: 5000 })).tasksChanged, 0)
  },
)

t.test('with more retries a failed task runs once more and is not followed further', async (t) => {
  const book = new Book({ leaseMs })
  const task = book.submit({
    retryPolicy: { maxRetries: 1, backoff: { kind: 'fixed', delayMs: 700 } },
  })
  for (let time = 0; time < 2; time++) book.wait(1000).fail(book.lease(task))
  const more = await whatIf(book, { maxRetries: 4 })
  t.match(more.recorded, { executions: 2, tasksFailed: 1, retries: 1, backoffMs: 700 })
  t.match(more.underKnobs, { executions: 3, tasksFailed: 0, tasksUnknown: 1, backoffMs: 1400 })
  t.match(more.differences, [{ cause: 'RETRIES_LEFT', executions: 1 }])
  const none = await whatIf(book, { maxRetries: 0 })
  t.match(none.underKnobs, { executions: 1, tasksFailed: 1, retries: 0, backoffMs: 0 })
  t.match(none.differences, [{ cause: 'RETRIES_USED_UP', executions: -1 }])
})

t.test('another backoff changes only how long tasks wait', async (t) => {
  const book = new Book({ leaseMs })
  const task = book.submit()
  for (let time = 0; time < 3; time++) book.wait(1000).fail(book.lease(task))
  const backoff = { kind: 'exponential', initialMs: 500, maxMs: 1500 } as const
  const { recorded, underKnobs, tasksChanged } = await whatIf(book, { backoff })
  t.equal(recorded.backoffMs, 3000)
  t.equal(underKnobs.backoffMs, 500 + 1000 + 1500)
  t.equal(tasksChanged, 0)
})

t.test('the threshold decides when a poison task is stopped', async (t) => {
  const book = new Book({ leaseMs })
  const task = book.submit()
  for (let time = 0; time < 3; time++) book.expire(book.lease(task))
  book.kill(task, 'poison: 3 leases in a row expired')
  const sooner = await whatIf(book, { poisonThreshold: 2 })
  t.match(sooner.underKnobs, { executions: 2, tasksPoisoned: 1 })
  t.match(sooner.differences, [{ cause: 'STOPPED_SOONER', executions: -1, leasesExpired: -1 }])
  for (const poisonThreshold of [0, 4]) {
    const later = await whatIf(book, { poisonThreshold })
    t.match(later.underKnobs, { executions: 4, tasksPoisoned: 0, tasksUnknown: 1 })
    t.match(later.differences, [{ cause: 'NOT_STOPPED', executions: 1 }])
  }
})

t.test(
  'an expiry during an outage is found at the next start and does not count as poison',
  async (t) => {
    const book = new Book({ leaseMs })
    const task = book.submit()
    book.lease(task)
    book.wait(60_000).restart()
    book.expire(2, true)
    for (const [leaseDurationMs, recoveryMs] of [
      [5000, 60_000],
      [40_000, 60_000],
      [70_000, 70_000],
    ] as const) {
      const { underKnobs } = await whatIf(book, { leaseDurationMs, poisonThreshold: 1 })
      t.equal(underKnobs.recovery.maxMs, recoveryMs, `${leaseDurationMs}`)
      t.equal(underKnobs.tasksPoisoned, leaseDurationMs === 70_000 ? 1 : 0)
    }
  },
)

t.test('a lease that would have ended before an outage expires before it', async (t) => {
  const book = new Book({ leaseMs })
  const lease = book.lease(book.submit())
  book.wait(8000).submit()
  book.wait(60_000).restart().expire(lease, true)
  t.equal((await whatIf(book, { leaseDurationMs: 5000 })).underKnobs.recovery.maxMs, 5000)
})

t.test('an attempt that is longer than its window loses its lease', async (t) => {
  const book = new Book({ leaseMs })
  const lease = book.lease(book.submit())
  for (let time = 0; time < 4; time++) book.wait(3000).extend(lease)
  book.complete(lease)
  const told = await whatIf(book, { executionWindowMs: 11_000 })
  t.match(told.differences, [{ cause: 'WINDOW_LOST', leasesExpired: 1, executions: 1 }])
  t.equal(told.underKnobs.recovery.maxMs, 2000)
})

t.test('under a longer window a late report is accepted, or the result is uncertain', async (t) => {
  const cut = (lateMs: number | undefined) => {
    const book = new Book({ leaseMs })
    const task = book.submit({ executionWindowMs: 12_000 })
    const lease = book.lease(task)
    book.wait(3000).extend(lease)
    book.expire(lease)
    if (lateMs !== undefined) book.wait(lateMs).cancel(lease)
    book.complete(book.lease(task))
    return whatIf(book, { executionWindowMs: 60_000 })
  }
  t.match(await cut(500), { lateReportsAccepted: 1, attemptsUncertain: 0 })
  const unknown = { lateReportsAccepted: 0, attemptsUncertain: 1, tasksChanged: 0 }
  t.match(await cut(20_000), unknown)
  t.match(await cut(undefined), unknown)
})

t.test('heartbeats that cannot be in the log do not count as silence', async (t) => {
  const book = new Book({ leaseMs })
  const usual = book.lease(book.submit())
  book.complete(usual)
  // The first lease lasts to the end of the window, so no heartbeat extends it.
  const lease = book.lease(book.submit({ executionWindowMs: 9000 }))
  book.wait(8000).complete(lease)
  const told = await whatIf(book, { leaseDurationMs: 5000 })
  t.match(told, { attemptsUncertain: 1, tasksChanged: 0 })
})

t.test('a task that was submitted before the first record is left out', async (t) => {
  const { book } = silentFor12s()
  const other = book.submit()
  book.complete(book.lease(other))
  const told = await forecast([book.entries.slice(1)], {})
  t.match(told, { tasks: 1, tasksLeftOut: 1, recorded: { executions: 1, lateReports: 0 } })
})

t.test(
  'a late report is dropped together with a lease that would not have been granted',
  async (t) => {
    const { book, task } = silentFor12s()
    const other = new Book({ leaseMs })
    const id = other.submit()
    const first = other.lease(id)
    other.expire(first)
    const second = other.lease(id)
    other.wait(2000).cancel(first)
    other.expire(second)
    const third = other.lease(id)
    other.wait(1).complete(third)
    other.wait(60_000).cancel(second)
    const told = await whatIf(other, { leaseDurationMs: 20_000 })
    t.match(told.recorded, { lateReports: 2, executions: 3 })
    t.match(told.underKnobs, { lateReports: 0, executions: 1 })
    t.equal((await whatIf(book, {})).tasks, task)
  },
)

t.test('the number of examples is limited per cause, and the totals are complete', async (t) => {
  const book = new Book({ leaseMs })
  for (let time = 0; time < 9; time++) {
    const lease = book.lease(book.submit())
    book.wait(9000).complete(lease)
  }
  const told = await whatIf(book, { leaseDurationMs: 5000 }, { examplesMax: 2 })
  t.match(told, { tasksChanged: 9, differences: [{ tasks: 9 }] })
  t.equal(told.examples.length, 2)
})

t.test('a knob out of range is rejected by name', async (t) => {
  const refused: [unknown, RegExp][] = [
    [{ leaseDurationMs: 9 }, /^knobs.leaseDurationMs is 9; it must be a whole number from 10 to /],
    [{ maxRetries: 1.5 }, /^knobs.maxRetries is 1.5/],
    [{ executionWindowMs: Number.NaN }, /^knobs.executionWindowMs is NaN/],
    [{ poisonThreshold: -1 }, /^knobs.poisonThreshold is -1/],
    [
      { heartbeatShare: 0.6 },
      /^knobs.heartbeatShare is 0.6; it must be more than 0 and at most 0.5/,
    ],
    [
      { backoff: { kind: 'cubic' } },
      /^knobs.backoff.kind is "cubic"; it must be one of fixed, exponential/,
    ],
    [
      { leaseDuration: 5 },
      /^knobs.leaseDuration is not an option; it must be one of leaseDurationMs, /,
    ],
    [{ delayMs: 5 }, /^knobs.delayMs is not an option/],
  ]
  for (const [knobs, message] of refused) {
    await t.rejects(forecast([], knobs as WhatIfKnobs), { code: 'HISTORY_BAD_KNOB', message })
  }
})

t.test('the forecast of an empty history is empty', async (t) => {
  const told = await forecast([], { leaseDurationMs: 5000 })
  t.match(told, { records: 0, tasks: 0, recorded: { executions: 0, recovery: { count: 0 } } })
})

t.test(
  'a report exactly at the end of a window is too late, and a silence after it does not count',
  async (t) => {
    const book = new Book({ leaseMs })
    const lease = book.lease(book.submit())
    book.wait(9000).complete(lease)
    const causeOf = async (knobs: WhatIfKnobs) => (await whatIf(book, knobs)).differences[0]?.cause
    t.equal(await causeOf({ executionWindowMs: 9000 }), 'WINDOW_LOST')
    t.equal(await causeOf({ executionWindowMs: 9001 }), undefined)
    t.equal(await causeOf({ executionWindowMs: 5000, leaseDurationMs: 8000 }), 'WINDOW_LOST')
    t.equal(await causeOf({ executionWindowMs: 8500, leaseDurationMs: 8000 }), 'LEASE_LOST')
  },
)

t.test('a lease past its expiry without an expiry record does not expire', async (t) => {
  const book = new Book({ leaseMs })
  book.lease(book.submit())
  book.wait(60_000).submit()
  t.equal((await whatIf(book, { leaseDurationMs: leaseMs })).underKnobs.leasesExpired, 0)
  t.equal((await whatIf(book, { leaseDurationMs: 9000 })).underKnobs.leasesExpired, 1)
})

t.test(
  'a longer lease may expire in a later outage and then does not count as poison',
  async (t) => {
    const book = new Book({ leaseMs })
    const task = book.submit()
    book.expire(book.lease(task))
    book.wait(30_000).restart()
    for (let time = 0; time < 2; time++) book.expire(book.lease(task))
    book.kill(task, 'poison: 3 leases in a row expired')
    const told = await whatIf(book, { leaseDurationMs: 20_000 })
    t.equal(told.underKnobs.recovery.maxMs, 40_000)
    t.match(told.differences, [{ cause: 'NOT_STOPPED', tasks: 1, executions: 1 }])
    const stopped = await whatIf(book, { leaseDurationMs: 20_000, poisonThreshold: 2 })
    t.match(stopped, { underKnobs: { tasksPoisoned: 1 }, tasksChanged: 0 })
  },
)

t.test('the usual lease duration comes from leases that no window cuts short', async (t) => {
  const book = new Book({ leaseMs: 30_000 })
  book.complete(book.lease(book.submit()))
  // Within 10 s of a lease of 30 s no heartbeat was due.
  const lease = book.lease(book.submit({ executionWindowMs: 9000 }))
  book.wait(8000).complete(lease)
  t.equal((await whatIf(book, { leaseDurationMs: 5000 })).attemptsUncertain, 0)
})

t.test('a task is kept only until no later record can change its result', async (t) => {
  const forecaster = new Forecaster({ leaseDurationMs: 60_000 })
  const book = new Book({ leaseMs })
  const task = book.submit()
  book.expire(book.lease(task))
  book.complete(book.lease(task))
  const kept: number[] = []
  book.wait(49_999).submit()
  book.wait(1).submit()
  for (const entry of book.entries) {
    forecaster.add(entry)
    kept.push(forecaster.followed)
  }
  t.same(kept, [0, 1, 1, 1, 1, 1, 0])
  const reported = new Forecaster({ leaseDurationMs: 60_000 })
  for (const entry of silentFor12s().book.entries) reported.add(entry)
  t.equal(reported.followed, 0, 'a late report makes it final')
})

// ---- spreads

function spreadOf(...all: number[]) {
  const durations = new Durations()
  for (const ms of all) durations.add(ms)
  return durations.spread()
}

t.test('percentiles are nearest ranks, so each is an actual duration', async (t) => {
  t.same(spreadOf(), { count: 0 })
  t.same(spreadOf(7), { count: 1, medianMs: 7, p99Ms: 7, maxMs: 7 })
  t.same(spreadOf(4, 1, 3, 2), { count: 4, medianMs: 2, p99Ms: 4, maxMs: 4 })
  const hundred = Array.from({ length: 100 }, (_, at) => at + 1)
  t.same(spreadOf(...hundred), { count: 100, medianMs: 50, p99Ms: 99, maxMs: 100 })
})

t.test('percentiles are exact up to two minutes, and then to one in a thousand', async (t) => {
  t.match(spreadOf(131_071, 131_071), { medianMs: 131_071 })
  for (const ms of [131_073, 987_654_321]) {
    const { medianMs = 0, maxMs } = spreadOf(ms)
    t.ok(medianMs <= ms && medianMs > ms * 0.999, `${medianMs} of ${ms}`)
    t.equal(maxMs, ms)
  }
})

// ---- random histories

const seeds = Array.from({ length: 150 }, (_, seed) => seed)
const windows = [3_600_000, 45_000, 12_000, 4000]

/** In lists of a few records, like a log. */
function* runsOf({ entries }: Book) {
  for (let from = 0; from < entries.length; from += 7) yield entries.slice(from, from + 7)
}

t.test('under its own knobs a history does not change', async (t) => {
  const checks = new QuietChecks(t)
  for (const seed of seeds) {
    const book = randomBook(new Random(seed), { windows })
    const { openings } = book
    for (const knobs of [{}, recordedKnobs, { leaseDurationMs: 10_000 }, { maxRetries: 2 }]) {
      const told = await forecast(runsOf(book), knobs, { openings })
      checks.same(told.underKnobs, told.recorded, `seed ${seed}`)
      checks.same([told.differences, told.examples, told.tasksChanged], [[], [], 0])
      checks.same([told.lateReportsAccepted, told.attemptsUncertain], [0, 0])
    }
  }
  t.equal(checks.count, 12 * seeds.length)
})

t.test('the recorded column equals the counters of the state machine', async (t) => {
  const seen = { expired: 0, atStart: 0, poisoned: 0, late: 0 }
  for (const seed of seeds) {
    const book = randomBook(new Random(seed), { windows })
    const { recorded, records, tasks } = await forecast(runsOf(book), {}, book)
    const counters = getCounters(book.state)
    const of = (type: string) => book.entries.filter(({ record }) => record.type === type).length
    t.equal(records, book.entries.length)
    t.equal(tasks, of('TaskCreated'))
    t.match(recorded, {
      executions: of('LeaseGranted'),
      leasesExpired: counters.leasesExpired,
      lateReports: of('TaskCancelled'),
      failures: of('TaskFailed'),
      tasksCompleted: of('TaskCompleted'),
      tasksUnknown: 0,
    })
    t.equal(recorded.tasksPoisoned + recorded.tasksStopped, of('TaskDead'))
    t.same(recorded.recovery, recoveryOf(book))
    seen.expired += counters.leasesExpired
    seen.atStart += counters.leasesExpiredAtStart
    seen.poisoned += recorded.tasksPoisoned
    seen.late += recorded.lateReports
  }
  for (const [what, count] of Object.entries(seen)) t.ok(count > 50, `${what}: ${count}`)
})

function recoveryOf({ entries }: Book) {
  const tracker = new AttemptTracker()
  const durations = new Durations()
  for (const entry of entries) {
    const attempt = tracker.add(entry)
    if (entry.record.type !== 'LeaseExpired' || attempt === undefined) continue
    const heardAt = attempt.heartbeats.at(-1)?.at ?? attempt.grantedAt
    durations.add(entry.record.at - heardAt)
  }
  return durations.spread()
}

t.test('under its own knobs every attempt is judged as recorded, to the millisecond', async (t) => {
  const checks = new QuietChecks(t)
  for (const seed of seeds) {
    const { entries, now } = randomBook(new Random(seed), { windows })
    const tracker = new AttemptTracker()
    const windowOf = new Map<number, number>()
    for (const entry of entries) {
      tracker.add(entry)
      const { record } = entry
      if (record.type === 'TaskCreated') windowOf.set(record.taskId, record.executionWindowMs)
    }
    for (const attempt of tracker.all()) {
      const windowMs = windowOf.get(attempt.taskId)!
      const terms = { recordedWindowMs: windowMs, windowMs, heartbeatShare: 1 / 3 }
      for (const leaseDurationMs of [undefined, 10_000]) {
        const lease = { leaseDurationMs, usualDurationMs: 10_000 }
        const judgement = judge(attempt, { ...terms, ...lease }, new Outages(), now)
        const { end } = attempt
        const expected =
          end?.outcome === 'EXPIRED'
            ? { kind: 'expires', at: end.at, atStart: end.atStart }
            : { kind: 'kept', isUncertain: false }
        checks.match(judgement, expected, `seed ${seed}, lease ${attempt.leaseId}`)
      }
    }
  }
  t.ok(checks.count > 5000, `${checks.count} judgements`)
})

t.test('under other knobs the forecast equals that of the naive implementation', async (t) => {
  const checks = new QuietChecks(t)
  const sums = { changed: 0, accepted: 0, unknown: 0 }
  for (const seed of seeds) {
    const random = new Random(seed)
    const book = randomBook(random, { restarts: false })
    for (let round = 0; round < 8; round++) {
      const knobs = randomKnobs(random)
      const told = await forecast(runsOf(book), knobs, { examplesMax: 1000 })
      const { counts, recoveries } = naiveForecast(book.entries, knobs)
      const durations = new Durations()
      for (const ms of recoveries) durations.add(ms)
      const what = `seed ${seed}: ${JSON.stringify(knobs)}`
      checks.match(told.underKnobs, { ...counts, recovery: durations.spread() }, what)
      const sumOf = (of: (item: (typeof told.differences)[number]) => number) =>
        told.differences.reduce((sum, item) => sum + of(item), 0)
      const { recorded, underKnobs } = told
      checks.equal(
        sumOf(({ tasks }) => tasks),
        told.tasksChanged,
      )
      checks.equal(told.examples.length, told.tasksChanged)
      checks.equal(
        sumOf(({ executions }) => executions),
        underKnobs.executions - recorded.executions,
      )
      checks.equal(
        sumOf(({ leasesExpired }) => leasesExpired),
        underKnobs.leasesExpired - recorded.leasesExpired,
      )
      sums.changed += told.tasksChanged
      sums.accepted += told.lateReportsAccepted
      sums.unknown += underKnobs.tasksUnknown
    }
  }
  for (const [what, count] of Object.entries(sums)) t.ok(count > 100, `${what}: ${count}`)
})

function randomKnobs(random: Random): WhatIfKnobs {
  const some = <T>(value: T) => (random.chance(0.5) ? value : undefined)
  const knobs = {
    leaseDurationMs: some(2000 + random.integer(40_000)),
    maxRetries: some(random.integer(5)),
    poisonThreshold: some(random.integer(6)),
  }
  return Object.fromEntries(Object.entries(knobs).filter(([, value]) => value !== undefined))
}
