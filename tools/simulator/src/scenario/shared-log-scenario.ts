import { crc32 } from 'node:zlib'
import { Random } from '@tenure/testing'
import type {
  EngineTrouble,
  LogChoice,
  Operation,
  PlannedTrouble,
  Scenario,
  SharedLogPlan,
} from './scenario.js'

/** One scenario in this number has a shared log. */
const oneOf = 4
/** Loses what a standby has not read yet, or more. */
const forgottenMax = 4

export function hasSharedLog(seed: number, log: LogChoice): boolean {
  return log === 'any' ? randomOf(seed, 'choice').integer(oneOf) === 0 : log === 'shared'
}

/**
 * Adds several coordinators to a scenario. The random source of this step is its own, so that scenarios with a
 * log of their own stay as they are.
 */
export function onSharedLog(scenario: Scenario): Scenario {
  const random = randomOf(scenario.seed, 'shared log')
  const sharedLog = drawSharedLog(random)
  const coordinators = sharedLog.aheadMs.length
  const faults = [
    ...scenario.faults.flatMap((fault) => forCopies(fault, random, coordinators)),
    ...drawEngineTroubles(random, scenario.healAtMs, coordinators),
  ].sort((a, b) => a.atMs - b.atMs)
  const operations = scenario.operations.map((operation): Operation => {
    if (operation.kind !== 'stop coordinator') return operation
    return { ...operation, coordinator: random.integer(coordinators) }
  })
  // A copy is not synced with each answer: a copy of one disk alone proves nothing.
  const knobs = { ...scenario.knobs, copiesPerThousand: 0 }
  return { ...scenario, knobs, operations, faults, sharedLog }
}

function drawSharedLog(random: Random): SharedLogPlan {
  const areTrue = random.chance(0.5)
  const ahead = () => (areTrue ? 0 : random.pick([0, -30_000, -1000, 1000, 30_000, 3_600_000]))
  return {
    aheadMs: Array.from({ length: 2 + random.integer(2) }, ahead),
    ttlMs: random.pick([200, 200, 500, 1000]),
    engineMsMax: random.pick([0, 2, 10, 30]),
    lostPerThousand: random.pick([0, 5, 30]),
    latePerThousand: random.pick([0, 20, 60]),
    bytesMax: random.pick([2 ** 30, 2 ** 30, 24_000, 60_000]),
  }
}

/**
 * Aims a trouble at one coordinator. Damaged and lying disks are left out: a copy then refuses to open,
 * or lacks what it has synced, and its node is set up anew by hand.
 */
function forCopies(
  fault: PlannedTrouble,
  random: Random,
  coordinators: number,
): readonly PlannedTrouble[] {
  const coordinator = random.integer(coordinators)
  if (fault.kind === 'failed sync' && fault.model === 'late') return []
  if (fault.kind === 'power loss') return [{ ...fault, coordinator, damage: [] }]
  return [{ ...fault, coordinator }]
}

/** A loss is the end of a shared log, so few scenarios have one. */
const lossChance = 0.1

function drawEngineTroubles(
  random: Random,
  healAtMs: number,
  coordinators: number,
): PlannedTrouble[] {
  const forMs = () => random.pick([50, 300, 900, 2500])
  const draws: readonly (() => EngineTrouble | { kind: 'kill coordinator'; downMs: number })[] = [
    () => ({ kind: 'engine leaderless', forMs: forMs() }),
    () => ({ kind: 'engine full', forMs: forMs() }),
    () => ({ kind: 'engine cut off', forMs: forMs() }),
    () => ({ kind: 'engine cut off', forMs: forMs() }),
    () => ({ kind: 'kill coordinator', downMs: random.pick([1, 300, 1500]) }),
  ]
  const some = draws.filter(() => random.chance(0.5))
  const planned = (trouble: ReturnType<(typeof draws)[number]>): PlannedTrouble => ({
    atMs: random.integer(healAtMs),
    coordinator: random.integer(coordinators),
    ...trouble,
  })
  const troubles = some.flatMap((draw) =>
    Array.from({ length: 1 + random.integer(3) }, () => planned(draw())),
  )
  if (random.chance(lossChance)) {
    const wiped: EngineTrouble = { kind: 'engine wiped' }
    const forgets: EngineTrouble = {
      kind: 'engine forgets',
      entries: 1 + random.integer(forgottenMax),
    }
    troubles.push(planned(random.chance(0.3) ? wiped : forgets))
  }
  return troubles
}

function randomOf(seed: number, purpose: string): Random {
  return new Random(crc32(`${seed} ${purpose}`))
}
