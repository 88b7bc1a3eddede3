import { getCounters } from '@tenure/state-machine'
import { QuietChecks, Random } from '@tenure/testing'
import type { Book } from '@tenure/testing-histories'
import t from 'tap'
import { AttemptTracker, forecast, type WhatIfKnobs } from '../../src/index.js'
import { judge } from '../../src/what-if/judgement.js'
import { Outages } from '../../src/what-if/outages.js'
import { Durations } from '../../src/what-if/spread.js'
import { naiveForecast } from './naive.js'
import { randomBook, recordedKnobs } from './random-book.js'

const seeds = Array.from({ length: 150 }, (_, seed) => seed)
const windows = [3_600_000, 45_000, 12_000, 4000]

/** In runs of a few records, as a log is read. */
function* runsOf({ entries }: Book) {
  for (let from = 0; from < entries.length; from += 7) yield entries.slice(from, from + 7)
}

t.test('under the knobs it was recorded with, a history is as it was', async (t) => {
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

t.test('what is told as recorded is what the state machine counts', async (t) => {
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

t.test('every attempt of the record is judged as it went, to the millisecond', async (t) => {
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

t.test('under other knobs it is told as by somebody who has it all before them', async (t) => {
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
