import { run } from './run.js'
import type { Scenario } from './scenario/scenario.js'
import { type Summary, summarize } from './summary.js'
import { addOutcome, emptyTally } from './tally.js'

/** Plays one scenario, and tells every event of it to whoever wants to know. */
export async function replay(
  scenario: Scenario,
  onLine: ((line: string) => void) | undefined,
): Promise<Summary> {
  const startMs = performance.now()
  const tally = emptyTally()
  addOutcome(tally, scenario.seed, await run(scenario, onLine))
  return summarize(tally, [], performance.now() - startMs)
}
