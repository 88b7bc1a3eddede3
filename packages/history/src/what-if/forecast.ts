import type { Opening } from '../follow/log-source.js'
import type { Change, Difference } from './changes.js'
import type { WhatIfKnobs } from './knobs.js'
import type { Outcomes } from './task-scenario.js'

/** The result of replaying a history under other knobs. */
export interface Forecast {
  /** The knobs that were changed. All others are as recorded. */
  readonly knobs: WhatIfKnobs & { readonly heartbeatShare: number }
  readonly records: number
  /** Time of the first record. */
  readonly firstAt?: number
  readonly lastAt?: number
  /** Tasks whose creation is among the records. Only these are followed and counted. */
  readonly tasks: number
  readonly tasksLeftOut: number
  readonly tasksChanged: number
  /** Reports that were CANCELLED in the record but would have been in time. */
  readonly lateReportsAccepted: number
  /** Attempts whose end under these knobs is uncertain. They are counted as recorded. */
  readonly attemptsUncertain: number
  readonly recorded: Outcomes
  readonly underKnobs: Outcomes
  /** Differences by cause. Their sums are the total differences in executions and expired leases. */
  readonly differences: readonly Difference[]
  /** The first few examples of each cause, by task. */
  readonly examples: readonly Change[]
}

export interface ForecastOptions {
  /** The opens of the log by coordinators. Without them no expiry is moved to a startup. */
  readonly openings?: readonly Opening[]
  /** Maximum number of examples per cause. Default 3. */
  readonly examplesMax?: number
  /** Called with the number of records read. */
  readonly onProgress?: (read: number) => void
}
