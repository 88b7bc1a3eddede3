import { median } from '@tenure/harness'

export type SystemName = 'tenure' | 'limit' | 'lmdb' | 'leveldb'
export type CaseName = 'append' | 'batch' | 'replay' | 'open' | 'roll' | 'memory'

/** One line of the output. A figure that a case does not have is null. */
export interface Result {
  readonly system: SystemName
  readonly case: CaseName
  readonly appenders: number
  readonly recordBytes: number
  /** Everybody here waits until each record is on the medium; see each system's file for how. */
  readonly sync: 'always'
  readonly recordsPerSecond: number | null
  readonly p50Ms: number | null
  readonly p99Ms: number | null
  readonly p999Ms: number | null
  /** Payload, framing not included. */
  readonly bytesPerSecond: number | null
  /** How many measurements the medians are made from, and the lowest and highest of them. */
  readonly rounds: number
  readonly recordsPerSecondSpread?: readonly [number, number]
  /** To the better way of writing. */
  readonly ratioToLimit?: number | undefined
  readonly ratioToPool?: number
  /** For `limit`: writes through the thread pool, or synchronous ones on the event loop. */
  readonly way?: 'pool' | 'loop' | undefined
  /** What the log wrote at once on average, framing included, and so what `limit` writes. */
  readonly bytesPerWrite?: number
  readonly recordsPerAppend?: number
  readonly records?: number
  readonly p999AcrossRollsMs?: number | null
  readonly p999BetweenRollsMs?: number | null
  readonly p999PreparingMs?: number | null
  readonly longestStallMs?: number | null
  readonly longestRollMs?: number | null
  readonly rolls?: number
  readonly state?: 'idle' | 'replay'
  readonly rssOverBareMiB?: number
}

/** One measurement of one system in one round. */
export interface Sample {
  readonly recordsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly p999Ms: number
  readonly bytesPerWrite?: number
  readonly recordsPerWrite?: number
}

/** The figures of several rounds as one. */
export function summarize(samples: readonly Sample[], recordBytes: number) {
  const rates = samples.map((sample) => sample.recordsPerSecond)
  const recordsPerSecond = median(rates)
  return {
    recordsPerSecond: round(recordsPerSecond),
    p50Ms: round(median(samples.map((sample) => sample.p50Ms))),
    p99Ms: round(median(samples.map((sample) => sample.p99Ms))),
    p999Ms: round(median(samples.map((sample) => sample.p999Ms))),
    bytesPerSecond: round(recordsPerSecond * recordBytes),
    rounds: samples.length,
    recordsPerSecondSpread: [Math.round(Math.min(...rates)), Math.round(Math.max(...rates))],
  } as const
}

/** To four significant digits, and null for what could not be measured: JSON knows no NaN. */
export function round(value: number): number | null {
  return Number.isFinite(value) ? Number(value.toPrecision(4)) : null
}
