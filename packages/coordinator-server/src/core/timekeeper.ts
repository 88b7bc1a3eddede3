import {
  countTasks,
  findByRequestId,
  getCounters,
  getLease,
  type LogRecord,
  nextExpiry,
} from '@tenure/state-machine'
import {
  expiredInARow,
  forgettableThrough,
  getCurrentLeaseId,
  getSummary,
} from '@tenure/state-machine/internal'
import type { Alarm } from './alarm.js'
import type { LockedKeys } from './commits.js'
import type { CoordinatorParts } from './coordinator-parts.js'

/** Appends the timekeeper's records. */
interface RecordWriter {
  /** False when the disk has no space for it. */
  write(record: LogRecord, keys: LockedKeys): boolean
  /** Whether a record about the task is in flight. */
  isLocked(taskId: number): boolean
}

/**
 * Decisions that become due by time: expired leases, poison tasks, and ended tasks past their retention.
 * Each is a record like any other decision, and is retried when the disk has no space.
 */
export class Timekeeper {
  readonly #parts: CoordinatorParts
  readonly #writer: RecordWriter
  readonly #alarm: Alarm
  /** Tasks to check for poison because a lease expired. */
  readonly #poisonCandidates: number[] = []
  #expireAgainAt = 0
  /** The `through` of the in-flight TasksForgotten, or 0 when there is none. */
  #forgettingThrough = 0
  /** Total forgotten tasks before the in-flight TasksForgotten. */
  #forgottenBefore = 0
  #hasMoreToForget = false

  constructor(parts: CoordinatorParts, writer: RecordWriter, alarm: Alarm) {
    this.#parts = parts
    this.#writer = writer
    this.#alarm = alarm
  }

  /** Sets the alarm for the lease that expires next. */
  arm(): void {
    const next = nextExpiry(this.#parts.state)
    if (next !== undefined) this.#alarm.setFor(Math.max(next.at, this.#expireAgainAt))
  }

  /** Whether a lease has expired at `at` and no expiry for it is in flight. */
  isExpiryDue(at: number): boolean {
    const next = nextExpiry(this.#parts.state)
    return next !== undefined && next.at <= at
  }

  /** Writes LeaseExpired for a bounded number of due leases, and returns their tasks. */
  expireDue(at = this.#parts.time.now(), atStart = false): number[] {
    const { state } = this.#parts
    const tasks: number[] = []
    while (tasks.length < tasksPerTurn && this.isExpiryDue(at)) {
      const { taskId } = getLease(state, nextExpiry(state)!.leaseId)!
      if (!this.expire(taskId, atStart)) break
      tasks.push(taskId)
    }
    return tasks
  }

  /** False when the disk has no space for it. */
  expire(taskId: number, atStart: boolean): boolean {
    const { state, time } = this.#parts
    const at = time.now()
    const leaseId = getCurrentLeaseId(state, taskId)!
    const record = { type: 'LeaseExpired', at, taskId, leaseId, atStart } as const
    if (this.#writer.write(record, { taskId })) return true
    this.#expireAgainAt = at + noSpaceRetryMs
    return false
  }

  noteExpired(taskId: number): void {
    this.#poisonCandidates.push(taskId)
  }

  /** `semantics` §7: ends tasks whose leases keep expiring. */
  stopPoison(): void {
    for (const taskId of this.#poisonCandidates.splice(0)) this.#stopIfPoison(taskId)
  }

  /** Ends poison tasks that a crash left WAITING after their last expiry. */
  stopPoisonAtStart(): void {
    const { state, knobs } = this.#parts
    if (knobs.poisonThreshold === 0) return
    for (const taskId of expiredInARow(state, knobs.poisonThreshold)) this.#stopIfPoison(taskId)
  }

  /** `semantics` §11: forgets a bounded number of tasks that ended long ago. */
  forget(): void {
    if (this.#forgettingThrough > 0) return
    const { state, knobs, time } = this.#parts
    const at = time.now()
    const endedUntil = at - knobs.retentionMs
    const limits = { endedUntil, keep: knobs.retentionTasks, limit: tasksPerTurn }
    const through = forgettableThrough(state, limits)
    if (through === undefined) return
    const written = this.#writer.write({ type: 'TasksForgotten', at, through }, {})
    if (!written) return
    this.#forgettingThrough = through
    this.#forgottenBefore = getCounters(state).tasksForgotten
  }

  /** Forgets without waiting for `tidy` when many more tasks are due. */
  forgetSurplus(): void {
    const { state, knobs } = this.#parts
    const surplus = countTasks(state).ended - knobs.retentionTasks
    if (!this.#hasMoreToForget && surplus < tasksPerTurn) return
    this.#hasMoreToForget = false
    this.forget()
  }

  noteForgotten(): void {
    this.#forgettingThrough = 0
    const forgotten = getCounters(this.#parts.state).tasksForgotten - this.#forgottenBefore
    this.#hasMoreToForget = forgotten >= tasksPerTurn
  }

  get isForgetting(): boolean {
    return this.#forgettingThrough > 0
  }

  isBeingForgotten(taskId: number): boolean {
    if (this.#forgettingThrough === 0) return false
    const endedLsn = getSummary(this.#parts.state, taskId)?.endedLsn
    return endedLsn !== undefined && endedLsn <= this.#forgettingThrough
  }

  /** Whether the task with this request id is being forgotten. */
  isIdBeingForgotten(requestId: string): boolean {
    // Checked first because looking up the id costs as much as the rest of the decision.
    if (this.#forgettingThrough === 0) return false
    const taskId = findByRequestId(this.#parts.state, requestId)
    return taskId !== undefined && this.isBeingForgotten(taskId)
  }

  #stopIfPoison(taskId: number): void {
    const { state, knobs, time } = this.#parts
    const { poisonThreshold } = knobs
    const task = getSummary(state, taskId)
    if (poisonThreshold === 0 || this.#writer.isLocked(taskId)) return
    if (task?.state !== 'WAITING' || task.expiriesInARow < poisonThreshold) return
    const reason = `poison: ${task.expiriesInARow} leases in a row expired`
    const at = time.now()
    if (this.#writer.write({ type: 'TaskDead', at, taskId, reason }, { taskId })) return
    this.#poisonCandidates.push(taskId)
    this.#alarm.setFor(at + noSpaceRetryMs)
  }
}

/** Maximum number of leases to expire, or tasks to forget, before other work runs. */
const tasksPerTurn = 1000
/** Delay before a decision is retried that the disk had no space for. */
export const noSpaceRetryMs = 1000
