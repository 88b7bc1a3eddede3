import t from 'tap'
import { run } from '../src/play/run.js'
import { drawScenario } from '../src/scenario/draw.js'
import type { PlannedTrouble, Scenario, Trouble } from '../src/scenario/scenario.js'

const troubles = [
  { kind: 'reset', who: 0 },
  { kind: 'half open', who: 0 },
  { kind: 'stall', who: 0, forMs: 50 },
  { kind: 'lose answers', who: 0, forMs: 50 },
  { kind: 'partition', who: 0, forMs: 50 },
  { kind: 'pause worker', worker: 0, forMs: 50 },
  { kind: 'kill worker', worker: 0, downMs: 50 },
  { kind: 'pause coordinator', forMs: 50 },
] satisfies Trouble[]

/** One client, one worker, nothing to do, and this that goes wrong. */
function scenarioWith(faults: readonly PlannedTrouble[]): Scenario {
  const { knobs, workers, ...scenario } = drawScenario(1)
  const calm = { ...knobs, networkMsMax: 1, diskMsMax: 0, copiesPerThousand: 0 }
  return {
    ...scenario,
    knobs: calm,
    workers: workers.slice(0, 1),
    clients: 1,
    operations: [],
    faults,
  }
}

for (const trouble of troubles) {
  t.test(`${trouble.kind} counts when it meets somebody`, async (t) => {
    const met = await run(scenarioWith([{ atMs: 500, ...trouble }]))
    t.equal(met.violation, undefined)
    t.same([...met.faults], [[trouble.kind, 1]])
  })

  t.test(`${trouble.kind} does not count when nobody is there`, async (t) => {
    // Who comes a moment later meets a partition all the same.
    const short = trouble.kind === 'partition' ? { ...trouble, forMs: 0 } : trouble
    const missed = await run(scenarioWith([{ atMs: 0, ...short }]))
    t.equal(missed.violation, undefined)
    t.same([...missed.faults], [])
  })
}

t.test('a partition counts also for who would connect', async (t) => {
  const { faults } = await run(scenarioWith([{ atMs: 0, kind: 'partition', who: 0, forMs: 500 }]))
  t.same([...faults], [['partition', 1]])
})
