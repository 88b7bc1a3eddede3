import t from 'tap'
import { fuzz, tryOnce } from '../src/campaign/campaign.js'
import { findingsDirectory, listFindings, readFinding } from '../src/campaign/finding-files.js'
import { openTarget } from '../src/targets.js'

/**
 * For each target a fixed number of inputs, and a minimum number of distinct outcomes: a target
 * with few outcomes rejects everything early and finds nothing.
 */
const rounds = {
  frames: { inputs: 400, outcomes: 30 },
  guard: { inputs: 3000, outcomes: 50 },
  records: { inputs: 250, outcomes: 100 },
  segments: { inputs: 100, outcomes: 15 },
  checkpoints: { inputs: 200, outcomes: 15 },
  configuration: { inputs: 400, outcomes: 60 },
} as const

for (const [name, { inputs, outcomes }] of Object.entries(rounds)) {
  t.test(`${name}: all checks hold for random inputs`, async (t) => {
    const target = openTarget(name)
    t.teardown(() => target.close?.())
    const campaign = await fuzz(target, { seed: 1, isOver: (tried) => tried >= inputs })
    t.same(campaign.findings, [])
    t.equal(campaign.inputs, inputs)
    t.comment(`${campaign.outcomes.size} distinct outcomes`)
    t.ok(campaign.outcomes.size >= outcomes, `${campaign.outcomes.size} distinct outcomes`)
  })
}

t.test('earlier findings do not occur again', async (t) => {
  for (const path of listFindings(findingsDirectory)) {
    const { target: name, check, input } = readFinding(path)
    const target = openTarget(name)
    t.equal((await tryOnce(target, input))?.message, undefined, `${path}: ${check}`)
    target.close?.()
  }
  t.ok(true)
})
