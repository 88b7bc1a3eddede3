import t from 'tap'
import { Latencies } from '../src/soak/latencies.js'

t.test('a quantile is right within two percent, by kind and phase', (t) => {
  const latencies = new Latencies()
  for (let n = 1; n <= 1000; n++) latencies.add('submit', 'quiet', n / 10)
  latencies.add('submit', 'checkpoint', 7)
  for (const [share, expected] of [
    [0.5, 50],
    [0.99, 99],
    [1, 100],
  ] as const) {
    const found = latencies.quantile('submit', 'quiet', share)
    t.ok(Math.abs(found / expected - 1) < 0.02, `${share}: ${found}`)
  }
  t.ok(Math.abs(latencies.quantile('submit', 'checkpoint', 0.5) - 7) < 0.14)
  t.ok(Number.isNaN(latencies.quantile('lease', 'quiet', 0.5)))
  t.end()
})
