import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { playSeeds } from '../src/play/crew.js'
import { run } from '../src/play/run.js'
import { probesMissed } from '../src/play/tally.js'
import { drawScenario } from '../src/scenario/draw.js'
import { readScenario } from '../src/scenario/scenario-file.js'

const scenarios = fileURLToPath(new URL('../../scenarios', import.meta.url))

for (const name of readdirSync(scenarios)) {
  const { about, scenario } = readScenario(join(scenarios, name))
  t.test(`an earlier failure stays fixed: ${about}`, async (t) => {
    const { violation } = await run(scenario)
    t.equal(violation, undefined)
  })
}

/** From this seed on, this many seeds reach nearly every situation that thousands do. */
const first = 1001
const seeds = 120

t.test('all checks hold under a few hundred seeds', async (t) => {
  let seed = first
  const next = () => (seed < first + seeds ? seed++ : undefined)
  const tally = await playSeeds({ threads: 2, next, onProgress: () => {} })
  t.equal(tally.seeds, seeds)
  t.same(tally.failures, [])
  const missed = probesMissed(tally)
  t.ok(missed.length <= 3, `nearly every situation is reached, except ${missed}`)
})

t.test('the same seed gives the same run', async (t) => {
  for (let seed = 1; seed <= 10; seed++) {
    const [one, other] = [await run(drawScenario(seed)), await run(drawScenario(seed))]
    t.equal(one.hash, other.hash, `seed ${seed}`)
  }
})
