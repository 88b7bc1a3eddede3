import t from 'tap'
import { Durations } from '../../src/what-if/spread.js'

function spreadOf(...all: number[]) {
  const durations = new Durations()
  for (const ms of all) durations.add(ms)
  return durations.spread()
}

t.test('a spread is of nearest ranks: each is a duration that there was', async (t) => {
  t.same(spreadOf(), { count: 0 })
  t.same(spreadOf(7), { count: 1, medianMs: 7, p99Ms: 7, maxMs: 7 })
  t.same(spreadOf(4, 1, 3, 2), { count: 4, medianMs: 2, p99Ms: 4, maxMs: 4 })
  const hundred = Array.from({ length: 100 }, (_, at) => at + 1)
  t.same(spreadOf(...hundred), { count: 100, medianMs: 50, p99Ms: 99, maxMs: 100 })
})

t.test('up to two minutes it is exact, beyond to one in a thousand', async (t) => {
  t.match(spreadOf(131_071, 131_071), { medianMs: 131_071 })
  for (const ms of [131_073, 987_654_321]) {
    const { medianMs = 0, maxMs } = spreadOf(ms)
    t.ok(medianMs <= ms && medianMs > ms * 0.999, `${medianMs} of ${ms}`)
    t.equal(maxMs, ms)
  }
})
