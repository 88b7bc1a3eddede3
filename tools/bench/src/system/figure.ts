import type { Durability } from './contender.js'
import type { Shape, Work } from './plan.js'

/** The result of one round, or of several. */
export interface Figure extends Shape {
  readonly system: string
  readonly durability: Durability
  readonly work: Work
  /** Number of waiting tasks when the measurement starts. */
  readonly liveTasks: number
  /**
   * Submissions at a steady rate instead of a closed loop: the share of the highest measured rate.
   */
  readonly load?: number
  readonly opsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/** Memory and disk space of one waiting task. */
export interface Footprint {
  readonly system: string
  readonly durability: Durability
  readonly work: 'hold'
  readonly liveTasks: number
  readonly memoryBytesPerTask: number
  readonly diskBytesPerTask: number
}
