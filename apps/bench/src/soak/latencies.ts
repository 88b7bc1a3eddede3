export type Kind = 'submit' | 'lease' | 'heartbeat' | 'complete'
export type Phase = 'quiet' | 'checkpoint'

/**
 * How long requests took, by their kind and by whether a checkpoint was being made: counts in
 * buckets of 2 % each, because half an hour of single figures would fill the memory.
 */
export class Latencies {
  readonly #counts = new Map<string, Map<number, number>>()

  add(kind: Kind, phase: Phase, ms: number): void {
    const key = `${kind} ${phase}`
    const counts = this.#counts.get(key) ?? new Map<number, number>()
    this.#counts.set(key, counts)
    const bucket = Math.round(Math.log(Math.max(ms, leastMs)) / Math.log(step))
    counts.set(bucket, (counts.get(bucket) ?? 0) + 1)
  }

  /** `NaN` where there were none. */
  quantile(kind: Kind, phase: Phase, share: number): number {
    const counts = [...(this.#counts.get(`${kind} ${phase}`) ?? [])].sort(([a], [b]) => a - b)
    const total = counts.reduce((sum, [, count]) => sum + count, 0)
    let seen = 0
    for (const [bucket, count] of counts) {
      seen += count
      if (seen >= total * share) return step ** bucket
    }
    return Number.NaN
  }
}

const leastMs = 0.01
const step = 1.02
