/**
 * How long things took: counts in buckets of 2 % each, because half an hour of single figures would
 * fill the memory.
 */
export class Latencies {
  readonly #counts = new Map<number, number>()
  count = 0

  add(ms: number): void {
    const bucket = Math.round(Math.log(Math.max(ms, leastMs)) / Math.log(step))
    this.#counts.set(bucket, (this.#counts.get(bucket) ?? 0) + 1)
    this.count++
  }

  /** `NaN` where there are none. */
  quantile(share: number): number {
    const counts = [...this.#counts].sort(([a], [b]) => a - b)
    let seen = 0
    for (const [bucket, count] of counts) {
      seen += count
      if (seen >= this.count * share) return step ** bucket
    }
    return Number.NaN
  }
}

const leastMs = 0.001
const step = 1.02
