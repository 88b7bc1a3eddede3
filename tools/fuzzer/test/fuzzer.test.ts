import t from 'tap'
import { fuzz, tryOnce } from '../src/campaign/campaign.js'
import { findingsDirectory, listFindings, readFinding } from '../src/campaign/finding-files.js'
import { openTarget } from '../src/targets.js'

/**
 * For each target a fixed number of inputs, and how many different outcomes these have to have at
 * least: a target of which nothing gets through, or to which everything is the same, finds nothing.
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
  t.test(`${name}: whatever comes, what has to hold holds`, async (t) => {
    const target = openTarget(name)
    t.teardown(() => target.close?.())
    const campaign = await fuzz(target, { seed: 1, isOver: (tried) => tried >= inputs })
    t.same(campaign.findings, [])
    t.equal(campaign.inputs, inputs)
    t.comment(`${campaign.outcomes.size} different outcomes`)
    t.ok(campaign.outcomes.size >= outcomes, `${campaign.outcomes.size} different outcomes`)
  })
}

t.test('what was found once is not found again', async (t) => {
  for (const path of listFindings(findingsDirectory)) {
    const { target: name, check, input } = readFinding(path)
    const target = openTarget(name)
    t.equal((await tryOnce(target, input))?.message, undefined, `${path}: ${check}`)
    target.close?.()
  }
  t.ok(true)
})
