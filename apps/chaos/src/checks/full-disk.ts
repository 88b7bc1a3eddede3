import type { Evidence } from '../evidence.js'
import type { FaultLine } from '../fault-journal.js'
import { Found } from '../found.js'
import type { Logged } from '../record-file.js'
import type { Refusal } from '../refusals.js'

/** docs/operations.md: within a second it goes on; but somebody may stand still, or be killed. */
const passesMs = 10_000
/** Workers that were cut off may take so long to come back. */
const undisturbedMs = 3000
const watchedMs = 1000
/** With more of them killed or stopped there may be nobody who works. */
const awayShareMax = 0.5

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

/**
 * While submissions are refused, work that is under way goes on: in the second after the first
 * refusal something else than a submission must be written. Watched where nobody else disturbs.
 */
export class ReserveWatch {
  readonly #watches: { readonly fromMs: number; readonly toMs: number; records: number }[]

  constructor({ refusals, faults, workers }: Pick<Evidence, 'refusals' | 'faults' | 'workers'>) {
    const fills = fillsOf(faults)
    this.#watches = refusals.flatMap(({ reason, fill, firstMs: fromMs }) => {
      const toMs = fromMs + watchedMs
      const isFull = toMs <= (fills[fill - 1]?.toMs ?? 0)
      const isWatched =
        reason === 'NO_SPACE' && isFull && !isDisturbed(faults, workers, fromMs, toMs)
      return isWatched ? [{ fromMs, toMs, records: 0 }] : []
    })
  }

  /** How often it was watched. */
  get count(): number {
    return this.#watches.length
  }

  read({ record: { type, at } }: Logged): void {
    if (type === 'TaskCreated') return
    for (const watch of this.#watches) {
      if (at >= watch.fromMs && at <= watch.toMs) watch.records++
    }
  }

  get faults(): Found {
    const found = new Found()
    for (const { fromMs, records } of this.#watches) {
      if (records > 0) continue
      const since = new Date(fromMs).toISOString()
      found.add(`submissions were refused from ${since} on, and for a second nothing went on`)
    }
    return found
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
