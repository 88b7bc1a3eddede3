import t from 'tap'
import { Latencies, median, spreadOf } from '../src/index.js'

t.test('quantiles are accurate to one percent', (t) => {
  const latencies = new Latencies()
  for (let n = 1; n <= 1000; n++) latencies.add(n / 10)
  for (const [share, expected] of [
    [0.5, 50],
    [0.99, 99],
    [1, 100],
  ] as const) {
    const found = latencies.quantile(share)
    t.ok(Math.abs(found / expected - 1) < 0.01, `${share}: ${found}`)
  }
  t.equal(latencies.count, 1000)
  latencies.clear()
  t.equal(latencies.count, 0)
  t.ok(Number.isNaN(latencies.quantile(0.5)))
  t.end()
})

t.test('a median ignores NaN', (t) => {
  t.equal(median([3, 1, Number.NaN, 2]), 2)
  t.equal(median([4, 1, 3, 2]), 2.5)
  t.ok(Number.isNaN(median([Number.NaN])))
  t.same(spreadOf([3, 1, 2]), { median: 2, least: 1, most: 3 })
  t.end()
})
