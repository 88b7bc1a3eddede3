import { groupBy, type Spread, spreadOf } from '@tenure/harness'
import type { Figure, Footprint } from './figure.js'

/** The median of a figure over its rounds. */
export interface Summary extends Figure {
  /** Lowest number of operations per second. */
  readonly least: number
  readonly most: number
  readonly rounds: number
}

/** Combines the measurements of several rounds, in the order in which they first occurred. */
export function summarize(all: readonly (Figure | Footprint)[]): (Summary | Footprint)[] {
  const groups = groupBy(all, keyOf)
  return [...groups.values()].map((group) => {
    const [first] = group
    return first!.work === 'hold'
      ? summarizeFootprints(group as readonly Footprint[])
      : summarizeFigures(group as readonly Figure[])
  })
}

function summarizeFigures(group: readonly Figure[]): Summary {
  const { median, least, most } = spread(group, 'opsPerSecond')
  return {
    ...group[0]!,
    opsPerSecond: median,
    least,
    most,
    rounds: group.length,
    p50Ms: spread(group, 'p50Ms').median,
    p99Ms: spread(group, 'p99Ms').median,
  }
}

function summarizeFootprints(group: readonly Footprint[]): Footprint {
  return {
    ...group[0]!,
    memoryBytesPerTask: spreadOf(group.map((one) => one.memoryBytesPerTask)).median,
    diskBytesPerTask: spreadOf(group.map((one) => one.diskBytesPerTask)).median,
  }
}

function spread(group: readonly Figure[], name: 'opsPerSecond' | 'p50Ms' | 'p99Ms'): Spread {
  return spreadOf(group.map((figure) => figure[name]))
}

function keyOf(figure: Figure | Footprint): string {
  const { system, work, liveTasks } = figure
  if (work === 'hold') return [system, work, liveTasks].join()
  const { connections, inFlight, load } = figure as Figure
  return [system, work, liveTasks, connections, inFlight, load].join()
}
