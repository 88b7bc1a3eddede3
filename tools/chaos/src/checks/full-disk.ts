import type { Evidence } from '../evidence/evidence.js'
import type { Logged } from '../evidence/record-file.js'
import type { FaultLine } from '../faults/fault-journal.js'
import type { Refusal } from '../work/refusals.js'
import { Found } from './found.js'

/** docs/operations.md: within a second it goes on; but somebody may stand still, or be killed. */
const passesMs = 10_000
/** Workers that were cut off may take so long to come back. */
const undisturbedMs = 3000
/** With more of them killed or stopped there may be nobody who works. */
const awayShareMax = 0.5

/** Behind the first refusal: what was on its way then, or is small enough for what is left, says nothing. */
const watchAfterMs = 500
/** Twice as long as a worker waits before it sends a heartbeat. */
const watchMs = 1000
/** So many leases must be open: of fewer the workers may all be away. */
const leasesMin = 5

/** docs/operations.md, A full disk: it refuses submissions as NO_SPACE, nothing else does, and it passes. */
export function* findWrongRefusals(
  refusals: readonly Refusal[],
  faults: readonly FaultLine[],
): Generator<string> {
  const fills = fillsOf(faults)
  for (const { reason, fill, count, lastMs } of refusals) {
    const what = `${count} submissions were refused as ${reason}`
    const full = fills[fill - 1]
    if (reason !== 'NO_SPACE') yield what
    else if (full === undefined) yield `${what} before the disk was full`
    else if (lastMs > full.toMs + passesMs) {
      const seconds = Math.round((lastMs - full.toMs) / 1000)
      yield `${what}, the last of them ${seconds} s after there was room again`
    }
  }
}

interface Watch {
  readonly fromMs: number
  readonly toMs: number
  /** How many leases were open when it began. */
  leases?: number
  reports: number
}

/**
 * While submissions are refused, work that is under way goes on: in a second soon after the first
 * refusal, somebody must be heard who holds a lease. Watched where nobody else disturbs.
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

  /** How often it was watched. */
  get count(): number {
    return this.#telling.length
  }

  get faults(): Found {
    const found = new Found()
    for (const { fromMs, reports } of this.#telling) {
      if (reports > 0) continue
      const since = new Date(fromMs - watchAfterMs).toISOString()
      found.add(`submissions were refused from ${since} on, and nobody who held a lease was heard`)
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

/** Whether it may be for another reason that nothing happens. */
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
