import { createHistogram } from 'node:perf_hooks'

/** The spread of one figure over several rounds. */
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

/** The middle value; for an even number of values, the mean of the two middle values. */
export function median(values: readonly number[]): number {
  const sorted = values.filter((value) => !Number.isNaN(value)).sort((a, b) => a - b)
  const upper = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
  const lower = sorted[Math.floor((sorted.length - 1) / 2)] ?? Number.NaN
  return (lower + upper) / 2
}

const nsPerMs = 1e6

/** Records durations with three significant digits, at 20 ns each and in constant memory. */
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

  /** The milliseconds that this share of the durations does not exceed; `NaN` without durations. */
  quantile(share: number): number {
    return this.count === 0 ? Number.NaN : this.#histogram.percentile(share * 100) / nsPerMs
  }
}
