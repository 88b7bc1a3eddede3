import { readdirSync } from 'node:fs'
import t from 'tap'
import { playSeeds } from '../src/crew.js'
import { run } from '../src/run.js'
import { drawScenario } from '../src/scenario/draw.js'
import { readScenario } from '../src/scenario/scenario-file.js'
import { probesMissed } from '../src/tally.js'

const scenarios = new URL('../../scenarios/', import.meta.url)

for (const name of readdirSync(scenarios)) {
  const { about, scenario } = readScenario(new URL(name, scenarios).pathname)
  t.test(`it went wrong once, and does not any more: ${about}`, async (t) => {
    const { violation } = await run(scenario)
    t.equal(violation, undefined)
  })
}

t.test('what holds under any faults holds under some hundred seeds', async (t) => {
  let seed = 1
  const next = () => (seed <= 300 ? seed++ : undefined)
  const tally = await playSeeds({ threads: 2, next, onProgress: () => {} })
  t.equal(tally.seeds, 300)
  t.same(tally.failures, [])
  t.same(probesMissed(tally), [], 'and everything that can happen has happened')
})

t.test('the same seed is the same run', async (t) => {
  for (let seed = 1; seed <= 20; seed++) {
    const [one, other] = [await run(drawScenario(seed)), await run(drawScenario(seed))]
    t.equal(one.hash, other.hash, `seed ${seed}`)
  }
})
