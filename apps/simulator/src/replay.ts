import { run } from './run.js'
import type { Scenario } from './scenario/scenario.js'
import { type Summary, summarize } from './summary.js'
import { addOutcome, emptyTally } from './tally.js'

/** Plays one scenario, and tells every event of it to whoever wants to know. */
export async function replay(
  scenario: Scenario,
  onLine: ((line: string) => void) | undefined,
): Promise<Summary & { readonly hash: string }> {
  const startMs = performance.now()
  const tally = emptyTally()
  const outcome = await run(scenario, onLine)
  addOutcome(tally, scenario.seed, outcome)
  return { ...summarize(tally, [], performance.now() - startMs), hash: outcome.hash }
}
