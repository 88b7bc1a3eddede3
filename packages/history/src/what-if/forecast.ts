import type { Opening } from '../follow/log-source.js'
import type { Change, Difference } from './changes.js'
import type { WhatIfKnobs } from './knobs.js'
import type { Outcomes } from './side.js'

/** What a history says it would have been under other knobs. */
export interface Forecast {
  /** Those that were tried. What is not among them is as recorded. */
  readonly knobs: WhatIfKnobs & { readonly heartbeatShare: number }
  readonly records: number
  /** Of the first and the last record. */
  readonly firstAt?: number
  readonly lastAt?: number
  /** Whose creation is among the records: only they are followed, and counted. */
  readonly tasks: number
  readonly tasksLeftOut: number
  readonly tasksChanged: number
  /** CANCELLED in the record, and in time under these knobs. */
  readonly lateReportsAccepted: number
  /** Attempts whose end under these knobs the log does not tell; they are counted as recorded. */
  readonly attemptsUncertain: number
  readonly recorded: Outcomes
  readonly underKnobs: Outcomes
  /** Their sums are the differences between both in executions and in expired leases. */
  readonly differences: readonly Difference[]
  /** The first few of each cause, by task. */
  readonly examples: readonly Change[]
}

export interface ForecastOptions {
  /** Where coordinators opened the log. Without them no expiry is moved to the start of one. */
  readonly openings?: readonly Opening[]
  /** How many examples there are of each cause. Default 3. */
  readonly examplesMax?: number
  /** Told how many records were read. */
  readonly onProgress?: (read: number) => void
}
