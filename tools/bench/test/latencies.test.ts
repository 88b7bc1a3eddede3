import t from 'tap'
import { Latencies } from '../src/load/latencies.js'

t.test('a quantile is right within two percent', (t) => {
  const latencies = new Latencies()
  for (let n = 1; n <= 1000; n++) latencies.add(n / 10)
  for (const [share, expected] of [
    [0.5, 50],
    [0.99, 99],
    [1, 100],
  ] as const) {
    const found = latencies.quantile(share)
    t.ok(Math.abs(found / expected - 1) < 0.02, `${share}: ${found}`)
  }
  t.equal(latencies.count, 1000)
  t.ok(Number.isNaN(new Latencies().quantile(0.5)))
  t.end()
})
