import { createHistogram } from 'node:perf_hooks'

/** How far the rounds of one measurement lie apart. */
export interface Spread {
  readonly median: number
  readonly least: number
  readonly most: number
}

export function spreadOf(values: readonly number[]): Spread {
  const known = values.filter((value) => !Number.isNaN(value))
  if (known.length === 0) return { median: Number.NaN, least: Number.NaN, most: Number.NaN }
  return { median: median(known), least: Math.min(...known), most: Math.max(...known) }
}

/** The middle value; of an even number of values the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.filter((value) => !Number.isNaN(value)).sort((a, b) => a - b)
  const upper = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
  const lower = sorted[Math.floor((sorted.length - 1) / 2)] ?? Number.NaN
  return (lower + upper) / 2
}

const nsPerMs = 1e6

/** How long things took, to three digits. It takes 20 ns for each, and the same memory for any number of them. */
export class Latencies {
  readonly #histogram = createHistogram({ lowest: 1, highest: 1e12, figures: 3 })

  get count(): number {
    return this.#histogram.count
  }

  add(ms: number): void {
    this.#histogram.record(Math.max(1, Math.round(ms * nsPerMs)))
  }

  clear(): void {
    this.#histogram.reset()
  }

  /** The milliseconds that this share of them does not exceed; `NaN` where there are none. */
  quantile(share: number): number {
    return this.count === 0 ? Number.NaN : this.#histogram.percentile(share * 100) / nsPerMs
  }
}
