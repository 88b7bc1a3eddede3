import { isDeepStrictEqual } from 'node:util'
import type { Scenario } from './scenario.js'

/** Whether the scenario still fails in the same way. */
export type Fails = (scenario: Scenario) => Promise<boolean>

/** Knobs with the fewest events. */
const calmKnobs = {
  diskMsMax: 0,
  networkMsMax: 0,
  pieceBytesMax: 100_000,
  clockRate: 1,
  poisonThreshold: 0,
  retentionMs: 3_600_000,
  retentionTasks: 1000,
  waitingTasksMax: 1000,
}

const calmSharedLog = { aheadMs: [0, 0], engineMsMax: 1, lostPerThousand: 0, latePerThousand: 0 }
type CalmName = keyof typeof calmSharedLog

/**
 * Removes from a scenario everything that its failure does not need: ever smaller pieces of the
 * lists of faults and operations, then knobs. Ends when nothing more can be removed, or after
 * `runsMax` runs.
 */
export async function shrink(scenario: Scenario, fails: Fails, runsMax = 300): Promise<Scenario> {
  let runs = 0
  const isWorse = async (candidate: Scenario) => ++runs <= runsMax && (await fails(candidate))
  let smallest = scenario
  for (let before = ''; before !== JSON.stringify(smallest) && runs < runsMax; ) {
    before = JSON.stringify(smallest)
    smallest = await shrinkList(smallest, 'faults', isWorse)
    smallest = await shrinkList(smallest, 'operations', isWorse)
    smallest = await shrinkList(smallest, 'workers', isWorse)
    smallest = await shrinkKnobs(smallest, isWorse)
    smallest = await shrinkSharedLog(smallest, isWorse)
  }
  return smallest
}

async function shrinkList(
  scenario: Scenario,
  list: 'faults' | 'operations' | 'workers',
  isWorse: Fails,
): Promise<Scenario> {
  let smallest = scenario
  for (let length = smallest[list].length; length >= 1; length = Math.floor(length / 2)) {
    // The first worker stays, because it serves every queue.
    for (let at = list === 'workers' ? 1 : 0; at < smallest[list].length; ) {
      const rest = smallest[list].filter((_, index) => index < at || index >= at + length)
      const candidate = { ...smallest, [list]: rest }
      if (await isWorse(candidate)) smallest = candidate
      else at += length
    }
  }
  return smallest
}

async function shrinkSharedLog(scenario: Scenario, isWorse: Fails): Promise<Scenario> {
  let smallest = scenario
  for (const [name, value] of Object.entries(calmSharedLog)) {
    const { sharedLog } = smallest
    if (sharedLog === undefined || isDeepStrictEqual(sharedLog[name as CalmName], value)) continue
    const candidate = { ...smallest, sharedLog: { ...sharedLog, [name]: value } }
    if (await isWorse(candidate)) smallest = candidate
  }
  return smallest
}

async function shrinkKnobs(scenario: Scenario, isWorse: Fails): Promise<Scenario> {
  let smallest = scenario
  for (const [name, value] of Object.entries(calmKnobs)) {
    if (smallest.knobs[name as keyof typeof calmKnobs] === value) continue
    const candidate = { ...smallest, knobs: { ...smallest.knobs, [name]: value } }
    if (await isWorse(candidate)) smallest = candidate
  }
  return smallest
}
