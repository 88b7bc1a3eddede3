import type { Durability } from './contender.js'
import type { Shape, Work } from './plan.js'

/** What one round has found, or several of them. */
export interface Figure extends Shape {
  readonly system: string
  readonly durability: Durability
  readonly work: Work
  /** Tasks that wait beside what is measured, when it begins. */
  readonly liveTasks: number
  /** Submissions at a steady rate, in place of a closed loop: the share of the most that was reached. */
  readonly load?: number
  readonly opsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/** What a waiting task takes. */
export interface Footprint {
  readonly system: string
  readonly durability: Durability
  readonly work: 'hold'
  readonly liveTasks: number
  readonly memoryBytesPerTask: number
  readonly diskBytesPerTask: number
}
