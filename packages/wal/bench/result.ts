import { median } from '@tenure/harness'

export type SystemName = 'tenure' | 'limit' | 'lmdb' | 'leveldb'
export type CaseName = 'append' | 'batch' | 'sustained' | 'replay' | 'open' | 'roll' | 'memory'

/** One line of the output. A figure that does not apply is null. */
export interface Result {
  readonly system: SystemName
  readonly case: CaseName
  readonly appenders: number
  readonly recordBytes: number
  /** Every system waits until each record is on the medium; see its file for the method. */
  readonly sync: 'always'
  readonly recordsPerSecond: number | null
  readonly p50Ms: number | null
  readonly p99Ms: number | null
  readonly p999Ms: number | null
  /** Payload without framing. */
  readonly bytesPerSecond: number | null
  /** Number of measurements behind the medians, and their minimum and maximum. */
  readonly rounds: number
  readonly recordsPerSecondSpread?: readonly [number, number]
  /** Relative to the faster way of writing. */
  readonly ratioToLimit?: number | undefined
  readonly ratioToPool?: number
  /** For `limit`: writes in the thread pool, or synchronous ones on the event loop. */
  readonly way?: 'pool' | 'loop' | undefined
  /** Average bytes per write of the log, including framing. `limit` writes the same size. */
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

/** Combines the figures of several rounds. */
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

/** Rounds to four significant digits. NaN becomes null, because JSON has no NaN. */
export function round(value: number): number | null {
  return Number.isFinite(value) ? Number(value.toPrecision(4)) : null
}
