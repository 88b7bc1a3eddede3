import { type TaskState, taskStates } from '../task.js'
import { numbered, Rows } from './rows.js'

/** The states as numbers in a row. */
export const states = numbered<TaskState>(taskStates)

/** One row per task: the content of its records, and its places in the indexes. */
export class TaskRows extends Rows {
  // Authoritative: comes from the records and is in every checkpoint.
  readonly taskId = this.f64()
  readonly createdAt = this.f64()
  readonly stateSince = this.f64()
  readonly executionWindowMs = this.f64()
  /** The delay of a fixed backoff, or the first delay of an exponential one. */
  readonly backoffMs = this.f64()
  /** The longest delay of an exponential backoff. */
  readonly backoffMsMax = this.f64()
  readonly notBefore = this.f64()
  /** 0 unless LEASED. */
  readonly currentLeaseId = this.f64()
  /** Orders the task in its due list: `eligible_at`, `lease_expiry`, or the LSN of its end. */
  readonly due = this.f64()

  readonly attempt = this.u32()
  readonly maxRetries = this.u32()
  readonly failures = this.u32()
  readonly expiriesInARow = this.u32()
  /** The request_id followed by the payload. For a COMPLETED task, the payload's digest. */
  readonly input = this.u32()
  /** The result of a COMPLETED task, otherwise the reason of the last failure or of the death. */
  readonly outcome = this.u32()
  readonly newestAttempt = this.u32()
  readonly queue = this.u32()

  // Derived: places in the indexes.
  readonly requestHash = this.u32()
  readonly previous = this.u32()
  readonly next = this.u32()
  readonly place = this.u32()

  readonly state = this.u8()
  readonly hasNotBefore = this.u8()
  readonly hasOutcome = this.u8()
  readonly exponential = this.u8()
  readonly requestIdBytes = this.u8()
  readonly attempts = this.u8()

  constructor() {
    super()
    this.seal()
  }

  /** Every task's row, in no particular order. */
  *rows(): Generator<number> {
    for (const row of this.all()) if (this.taskId.get(row) !== 0) yield row
  }
}

/** The order of every due list: `(due, task_id)`. */
export function comesBefore(tasks: TaskRows, a: number, b: number): boolean {
  const dueA = tasks.due.get(a)
  const dueB = tasks.due.get(b)
  return dueA < dueB || (dueA === dueB && tasks.taskId.get(a) < tasks.taskId.get(b))
}
