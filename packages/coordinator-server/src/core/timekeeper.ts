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
import type { Holds } from './commits.js'
import type { CoordinatorParts } from './coordinator-parts.js'

/** How a decision takes effect. */
interface RecordWriter {
  /** False when the disk has no room for it. */
  write(record: LogRecord, holds: Holds): boolean
  /** Whether a record about the task is on its way. */
  isLocked(taskId: number): boolean
}

/**
 * The decisions that nobody asks for, because time makes them due: leases that expire, tasks whose
 * leases expired too often, ended tasks whose retention is over. Each is a record like every other
 * decision, and is tried again later when the disk has no room for it.
 */
export class Timekeeper {
  readonly #parts: CoordinatorParts
  readonly #writer: RecordWriter
  readonly #alarm: Alarm
  /** Tasks of which a lease has expired, to be looked at for poison. */
  readonly #suspects: number[] = []
  #expireAgainAt = 0
  /** Not 0 while a TasksForgotten is on its way: tasks that ended up to there are on their way out. */
  #forgettingThrough = 0
  /** How many had been forgotten before those, and whether there may be more that are due. */
  #forgottenBefore = 0
  #isBehind = false

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

  /** Whether a lease is past its expiry at that moment, and nothing on its way says so. */
  isExpiryDue(at: number): boolean {
    const next = nextExpiry(this.#parts.state)
    return next !== undefined && next.at <= at
  }

  /** Writes LeaseExpired for leases whose time is over, a bounded number at once; gives their tasks. */
  expireDue(at = this.#parts.time.now(), atStart = false): number[] {
    const { state } = this.#parts
    const tasks: number[] = []
    while (tasks.length < tasksAtOnce && this.isExpiryDue(at)) {
      const { taskId } = getLease(state, nextExpiry(state)!.leaseId)!
      if (!this.expire(taskId, atStart)) break
      tasks.push(taskId)
    }
    return tasks
  }

  /** False when the disk has no room for it. */
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
    this.#suspects.push(taskId)
  }

  /** `semantics` §7: a task whose leases expire again and again is offered to nobody any more. */
  stopPoison(): void {
    for (const taskId of this.#suspects.splice(0)) this.#stopIfPoison(taskId)
  }

  /** The same at the start, if a crash came between. */
  stopPoisonAtStart(): void {
    const { state, knobs } = this.#parts
    if (knobs.poisonThreshold === 0) return
    for (const taskId of expiredInARow(state, knobs.poisonThreshold)) this.#stopIfPoison(taskId)
  }

  /** `semantics` §11: lets go of tasks that ended long ago, a bounded number at once. */
  forget(): void {
    if (this.#forgettingThrough > 0) return
    const { state, knobs, time } = this.#parts
    const at = time.now()
    const endedUntil = at - knobs.retentionMs
    const limits = { endedUntil, keep: knobs.retentionTasks, limit: tasksAtOnce }
    const through = forgettableThrough(state, limits)
    if (through === undefined) return
    const written = this.#writer.write({ type: 'TasksForgotten', at, through }, {})
    if (!written) return
    this.#forgettingThrough = through
    this.#forgottenBefore = getCounters(state).tasksForgotten
  }

  /** Does not wait for the time to tidy up when there are many more that are due. */
  forgetSurplus(): void {
    const { state, knobs } = this.#parts
    const surplus = countTasks(state).ended - knobs.retentionTasks
    if (!this.#isBehind && surplus < tasksAtOnce) return
    this.#isBehind = false
    this.forget()
  }

  noteForgotten(): void {
    this.#forgettingThrough = 0
    const forgotten = getCounters(this.#parts.state).tasksForgotten - this.#forgottenBefore
    this.#isBehind = forgotten >= tasksAtOnce
  }

  get isForgetting(): boolean {
    return this.#forgettingThrough > 0
  }

  isBeingForgotten(taskId: number): boolean {
    if (this.#forgettingThrough === 0) return false
    const endedLsn = getSummary(this.#parts.state, taskId)?.endedLsn
    return endedLsn !== undefined && endedLsn <= this.#forgettingThrough
  }

  /** The same of the task that was submitted under this id. */
  isIdBeingForgotten(requestId: string): boolean {
    // Nearly never: to look for the id costs as much as the rest of a decision.
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
    this.#suspects.push(taskId)
    this.#alarm.setFor(at + noSpaceRetryMs)
  }
}

/** How many leases are expired, or tasks forgotten, before other work gets its turn. */
const tasksAtOnce = 1000
/** How long a decision waits that the disk had no room for. */
export const noSpaceRetryMs = 1000
