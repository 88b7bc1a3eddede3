import type { Evidence } from '../evidence/evidence.js'
import type { Logged } from '../evidence/record-file.js'
import type { FaultLine } from '../faults/fault-journal.js'
import type { Refusal } from '../work/refusals.js'
import { FaultSample } from './fault-sample.js'

/** docs/operations.md promises one second; processes that are stopped or killed need longer. */
const passesMs = 10_000
/** Workers that were cut off may take this long to reconnect. */
const undisturbedMs = 3000
/** With more workers killed or stopped there may be none left to work. */
const awayShareMax = 0.5

/**
 * Counted from the first rejection: records that were in flight then, or that fit into the
 * remaining space, prove nothing.
 */
const watchAfterMs = 500
/** Twice the time that a worker waits before it sends a heartbeat. */
const watchMs = 1000
/** Minimum number of open leases: with fewer, all of their workers may be stopped. */
const leasesMin = 5

/**
 * docs/operations.md, A full disk: only submissions are rejected, only as NO_SPACE, and only while
 * the disk is full.
 */
export function* findWrongRefusals(
  refusals: readonly Refusal[],
  faults: readonly FaultLine[],
): Generator<string> {
  const fills = fillsOf(faults)
  for (const { reason, fill, count, lastMs } of refusals) {
    const what = `${count} submissions were rejected as ${reason}`
    const full = fills[fill - 1]
    if (reason !== 'NO_SPACE') yield what
    else if (full === undefined) yield `${what} before the disk was full`
    else if (lastMs > full.toMs + passesMs) {
      const seconds = Math.round((lastMs - full.toMs) / 1000)
      yield `${what}, the last of them ${seconds} s after the disk had space again`
    }
  }
}

interface Watch {
  readonly fromMs: number
  readonly toMs: number
  /** Number of open leases when it began. */
  leases?: number
  reports: number
}

/**
 * Work continues while submissions are rejected: in the second after the first rejection, at least
 * one worker that holds a lease reports or sends a heartbeat. Watched only while no other fault is
 * active.
 */
export class ReserveWatch {
  readonly #watches: Watch[]
  /** The tasks that are leased. */
  readonly #leased = new Set<number>()

  constructor({ refusals, faults, workers }: Pick<Evidence, 'refusals' | 'faults' | 'workers'>) {
    const fills = fillsOf(faults)
    this.#watches = refusals.flatMap(({ reason, fill, firstMs }) => {
      const fromMs = firstMs + watchAfterMs
      const toMs = fromMs + watchMs
      const isFull = toMs <= (fills[fill - 1]?.toMs ?? 0)
      const isWatched =
        reason === 'NO_SPACE' && isFull && !isDisturbed(faults, workers, firstMs, toMs)
      return isWatched ? [{ fromMs, toMs, reports: 0 }] : []
    })
  }

  read({ record }: Logged): void {
    this.#open(record.at)
    switch (record.type) {
      case 'LeaseGranted':
        this.#leased.add(record.taskId)
        break
      case 'LeaseExtended':
        this.#hear(record.at)
        break
      case 'TaskCompleted':
      case 'TaskFailed':
        this.#hear(record.at)
        this.#leased.delete(record.taskId)
        break
      case 'LeaseExpired':
      case 'TaskDead':
        this.#leased.delete(record.taskId)
        break
      default:
        break
    }
  }

  end(): void {
    this.#open(Number.POSITIVE_INFINITY)
  }

  /** Number of times that this was watched. */
  get count(): number {
    return this.#telling.length
  }

  get faults(): FaultSample {
    const found = new FaultSample()
    for (const { fromMs, reports } of this.#telling) {
      if (reports > 0) continue
      const since = new Date(fromMs - watchAfterMs).toISOString()
      found.add(`submissions were rejected from ${since} on, and no lease made progress`)
    }
    return found
  }

  get #telling(): Watch[] {
    return this.#watches.filter(({ leases = 0 }) => leases >= leasesMin)
  }

  #open(now: number): void {
    for (const watch of this.#watches) {
      if (now >= watch.fromMs) watch.leases ??= this.#leased.size
    }
  }

  #hear(at: number): void {
    for (const watch of this.#watches) {
      if (at >= watch.fromMs && at <= watch.toMs) watch.reports++
    }
  }
}

/** Whether another fault may be the reason that nothing happens. */
function isDisturbed(
  faults: readonly FaultLine[],
  workers: number,
  fromMs: number,
  toMs: number,
): boolean {
  const during = faults.filter(
    (fault) => fault.fromMs <= toMs && fault.toMs >= fromMs - undisturbedMs,
  )
  const targets = new Set(during.map(({ target }) => target))
  targets.delete('disk')
  return allNeed.some((target) => targets.has(target)) || targets.size > workers * awayShareMax
}

const allNeed = ['coordinator', 'network']

function fillsOf(faults: readonly FaultLine[]): FaultLine[] {
  return faults.filter(({ kind }) => kind === 'fill')
}
