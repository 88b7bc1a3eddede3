import t from 'tap'
import { cases } from '../src/worker/cases.js'

t.test('every case runs all of its tasks, and gives a figure', async (t) => {
  for (const { name, unit, measure } of cases) {
    const { value, cpu } = await measure({ tasks: 200, idleSeconds: 0.2 })
    t.ok(value >= 0 && Number.isFinite(value), `${name}: ${value} ${unit}`)
    t.ok(cpu >= 0 && cpu < 64, `${name}: ${cpu} processors`)
  }
})
