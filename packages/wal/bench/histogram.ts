/** Each bucket is about 1.1 % wide. */
const bucketsPerOctave = 64
const octaves = 24

/**
 * Counts of latencies from a microsecond to 16 seconds, in buckets of constant relative width: one
 * logarithm and one increment per sample, so that it does not distort what it measures.
 */
export class Histogram {
  readonly #counts = new Uint32Array(bucketsPerOctave * octaves)
  #total = 0

  record(durationMs: number): void {
    const microseconds = durationMs * 1000
    const bucket = microseconds <= 1 ? 0 : Math.floor(Math.log2(microseconds) * bucketsPerOctave)
    const last = this.#counts.length - 1
    this.#counts[Math.min(bucket, last)]!++
    this.#total++
  }

  get samples(): number {
    return this.#total
  }

  clear(): void {
    this.#counts.fill(0)
    this.#total = 0
  }

  /** The latency that this share of the samples does not exceed; NaN without samples. */
  percentileMs(share: number): number {
    if (this.#total === 0) return Number.NaN
    const rank = Math.ceil(share * this.#total)
    let seen = 0
    let bucket = 0
    for (; bucket < this.#counts.length; bucket++) {
      seen += this.#counts[bucket]!
      if (seen >= rank) break
    }
    return 2 ** ((bucket + 0.5) / bucketsPerOctave) / 1000
  }
}
