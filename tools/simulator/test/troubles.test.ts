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

/** One client and one worker without work, and these troubles. */
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
  t.test(`${trouble.kind} counts when it affects a peer`, async (t) => {
    const met = await run(scenarioWith([{ atMs: 500, ...trouble }]))
    t.equal(met.violation, undefined)
    t.same([...met.faults], [[trouble.kind, 1]])
  })

  t.test(`${trouble.kind} does not count when it affects no peer`, async (t) => {
    // A peer that connects a moment later would still meet a partition, so this one has no
    // duration.
    const short = trouble.kind === 'partition' ? { ...trouble, forMs: 0 } : trouble
    const missed = await run(scenarioWith([{ atMs: 0, ...short }]))
    t.equal(missed.violation, undefined)
    t.same([...missed.faults], [])
  })
}

t.test('a partition also counts for a peer that tries to connect', async (t) => {
  const { faults } = await run(scenarioWith([{ atMs: 0, kind: 'partition', who: 0, forMs: 500 }]))
  t.same([...faults], [['partition', 1]])
})
