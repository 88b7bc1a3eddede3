import { type Counts, sumOfCounts } from '@tenure/harness'
import { type Failure, probesMissed, type Tally } from './tally.js'

/** A failure with its shrunk scenario. */
export interface Shrunk {
  readonly seed: number
  readonly path: string
  readonly operations: number
  readonly faults: number
}

/** The result of a run. */
export interface Summary {
  readonly seeds: number
  readonly failures: readonly Failure[]
  readonly shrunk: readonly Shrunk[]
  readonly virtualHours: number
  readonly seconds: number
  readonly seedsPerSecond: number
  readonly records: number
  /** Number of coordinator starts. */
  readonly starts: number
  readonly hash: string
  readonly endings: Counts
  readonly faults: Counts
  readonly faultsInAll: number
  readonly probes: Counts
  readonly probesMissed: readonly string[]
}

export function summarize(tally: Tally, shrunk: readonly Shrunk[], elapsedMs: number): Summary {
  const { seeds, failures, virtualMs, records, lives, hash, endings, faults, probes } = tally
  const seconds = Math.round(elapsedMs / 100) / 10
  return {
    seeds,
    failures,
    shrunk,
    virtualHours: toHours(virtualMs),
    seconds,
    seedsPerSecond: Math.round((seeds / elapsedMs) * 10_000) / 10,
    records,
    starts: lives,
    hash,
    endings,
    faults: sorted(faults),
    faultsInAll: sumOfCounts(tally.faults),
    probes: sorted(probes),
    probesMissed: probesMissed(tally),
  }
}

export function describeProgress(tally: Tally, elapsedMs: number): string {
  const { seeds, virtualMs, failures } = tally
  const rate = Math.round((seeds / elapsedMs) * 1000)
  return `${seeds} seeds, ${rate} per second, ${toHours(virtualMs)} virtual hours, ${sumOfCounts(tally.faults)} faults, ${failures.length} failures`
}

export function describeSummary(summary: Summary): string {
  const { seeds, seconds, seedsPerSecond, virtualHours, failures, shrunk, endings } = summary
  const ends = Object.entries(endings).map(([ending, count]) => `${count} ${ending}`)
  return [
    `seeds    ${seeds} in ${seconds} s, ${seedsPerSecond} per second: ${ends.join(', ')}`,
    `time     ${virtualHours} virtual hours, ${summary.starts} starts, ${summary.records} records`,
    `faults   ${summary.faultsInAll}: ${describeCounts(summary.faults)}`,
    `hash     ${summary.hash}`,
    `missed   ${summary.probesMissed.join(', ') || 'no probe'}`,
    ...failures.slice(0, shownMax).map(describeFailure),
    ...shrunk.map(describeShrunk),
    failures.length === 0 ? 'all checks hold' : `${failures.length} seeds failed`,
  ].join('\n')
}

const shownMax = 10

export function describeFailure({ seed, log, check, message }: Failure): string {
  return `VIOLATED ${check}\n         ${message}\n         pnpm sim --seed ${seed}${log === 'any' ? '' : ` --${log}-log`}`
}

function describeShrunk({ path, operations, faults }: Shrunk): string {
  return `shrunk   ${operations} operations and ${faults} faults: pnpm sim --scenario ${path}`
}

function describeCounts(counts: Counts): string {
  return Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ')
}

function sorted(counts: Counts): Counts {
  return Object.fromEntries(Object.entries(counts).sort(([a], [b]) => (a < b ? -1 : 1)))
}

function toHours(ms: number): number {
  return Math.round(ms / 36_000) / 100
}
