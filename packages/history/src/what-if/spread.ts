/** Percentiles of a number of durations. */
export interface Spread {
  readonly count: number
  readonly medianMs?: number
  readonly p99Ms?: number
  readonly maxMs?: number
}

/** Below this, every millisecond is counted separately. Above it, the resolution is one in a thousand. */
const exactBelowMs = 2 ** 17
const fineBits = 10

/** Counts any number of durations in bounded memory. */
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

/** Nearest rank: the smallest duration that at least `rank` durations do not exceed. */
function at(sorted: readonly (readonly [ms: number, count: number])[], rank: number): number {
  let seen = 0
  for (const [ms, count] of sorted) {
    seen += count
    if (seen >= rank) return ms
  }
  return sorted.at(-1)![0]
}
