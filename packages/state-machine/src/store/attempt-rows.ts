import { type AttemptOutcome, attemptOutcomes } from '../task.js'
import { numbered, Rows } from './rows.js'

/** The outcomes as numbers in a row. */
export const outcomes = numbered<AttemptOutcome>(attemptOutcomes)

/** One row per remembered attempt, linked from its task, newest first. */
export class AttemptRows extends Rows {
  readonly leaseId = this.f64()
  readonly grantedAt = this.f64()
  readonly leaseExpiry = this.f64()
  readonly endedAt = this.f64()
  readonly worker = this.u32()
  readonly reportId = this.u32()
  readonly older = this.u32()
  readonly outcome = this.u8()
  readonly cancelled = this.u8()

  constructor() {
    super()
    this.seal()
  }
}
