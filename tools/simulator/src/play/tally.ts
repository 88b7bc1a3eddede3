import { addCounts, type Counts } from '@tenure/harness'
import type { LogChoice } from '../scenario/scenario.js'
import type { Check } from '../violation.js'
import { probeNames } from './probes.js'
import type { Outcome } from './run.js'

export interface Failure {
  readonly seed: number
  readonly log: LogChoice
  readonly check: Check
  readonly message: string
}

/** The results of many seeds, as plain data, so that threads can pass it on. */
export interface Tally {
  seeds: number
  virtualMs: number
  records: number
  lives: number
  /** Hash of all events of all seeds, independent of the order in which the seeds were played. */
  hash: string
  readonly endings: Counts
  readonly faults: Counts
  readonly probes: Counts
  readonly failures: Failure[]
}

export function emptyTally(): Tally {
  const counts = { seeds: 0, virtualMs: 0, records: 0, lives: 0 }
  return { ...counts, hash: '', endings: {}, faults: {}, probes: {}, failures: [] }
}

export function addOutcome(tally: Tally, seed: number, outcome: Outcome, log: LogChoice): void {
  const { ending, violation, virtualMs, records, lives, hash, faults, probes } = outcome
  tally.seeds++
  tally.virtualMs += virtualMs
  tally.records += records
  tally.lives += lives
  tally.hash = mergeHashes(tally.hash, hash)
  addCounts(tally.endings, { [ending]: 1 })
  addCounts(tally.faults, Object.fromEntries(faults))
  addCounts(tally.probes, Object.fromEntries(probes))
  if (violation !== undefined) {
    tally.failures.push({ seed, log, check: violation.check, message: violation.message })
  }
}

/** The result of a seed that ended its thread. */
export function tallyOfLost(failure: Failure): Tally {
  return { ...emptyTally(), seeds: 1, endings: { lost: 1 }, failures: [failure] }
}

export function addTally(tally: Tally, other: Tally): void {
  tally.seeds += other.seeds
  tally.virtualMs += other.virtualMs
  tally.records += other.records
  tally.lives += other.lives
  tally.hash = mergeHashes(tally.hash, other.hash)
  addCounts(tally.endings, other.endings)
  addCounts(tally.faults, other.faults)
  addCounts(tally.probes, other.probes)
  tally.failures.push(...other.failures)
}

export function probesMissed({ probes }: Tally): string[] {
  return probeNames.filter((name) => probes[name] === undefined)
}

/** Combined bit by bit, so that the order does not matter. */
function mergeHashes(one: string, other: string): string {
  const digits = Math.max(one.length, other.length)
  return (BigInt(`0x0${one}`) ^ BigInt(`0x0${other}`)).toString(16).padStart(digits, '0')
}
