/** How a number of durations are spread. */
export interface Spread {
  readonly count: number
  readonly medianMs?: number
  readonly p99Ms?: number
  readonly maxMs?: number
}

/** Below, every millisecond is counted for itself; above, one in a thousand is fine enough. */
const exactBelowMs = 2 ** 17
const fineBits = 10

/** Counts durations in bounded memory, however many there are. */
export class Durations {
  readonly #counts = new Map<number, number>()
  #count = 0
  #maxMs = 0

  add(ms: number): void {
    const rounded = round(ms)
    this.#counts.set(rounded, (this.#counts.get(rounded) ?? 0) + 1)
    this.#count++
    this.#maxMs = Math.max(this.#maxMs, ms)
  }

  spread(): Spread {
    if (this.#count === 0) return { count: 0 }
    const sorted = [...this.#counts].sort(([a], [b]) => a - b)
    const [medianMs, p99Ms] = [at(sorted, this.#count * 0.5), at(sorted, this.#count * 0.99)]
    return { count: this.#count, medianMs, p99Ms, maxMs: this.#maxMs }
  }
}

function round(ms: number): number {
  if (ms < exactBelowMs) return ms
  const step = 2 ** (Math.floor(Math.log2(ms)) - fineBits)
  return Math.floor(ms / step) * step
}

/** The nearest rank: the least duration that so many do not exceed. */
function at(sorted: readonly (readonly [ms: number, count: number])[], rank: number): number {
  let seen = 0
  for (const [ms, count] of sorted) {
    seen += count
    if (seen >= rank) return ms
  }
  return sorted.at(-1)![0]
}
