import { countDuplicates } from './duplicates.js'
import { takeEffect } from './effects.js'
import type { NaiveRecord } from './record.js'
import { findBrokenRule } from './rules.js'
import { byEligibility, firstEligible } from './standing.js'
import { emptyState, findByRequestId, findTask, type NaiveCounters } from './state.js'
import { isTerminal, type NaiveTask, openAttempt } from './task.js'

/**
 * A second implementation of the state machine of the specification, for comparison with the real one.
 *
 * It keeps one array of tasks and answers every question by scanning it. It is slow on purpose: there is no
 * index that could disagree with the tasks, so its answers follow from the rules and effects alone. All
 * returned values are copies.
 */
export class NaiveModel {
  #state = emptyState()

  /** Applies a valid record. Returns the rule that an invalid record breaks, and then changes nothing. */
  apply(lsn: number, record: NaiveRecord): string | undefined {
    const brokenRule = findBrokenRule(this.#state, lsn, record)
    if (brokenRule === undefined) takeEffect(this.#state, lsn, record)
    return brokenRule
  }

  /** Declares a gap: LSNs below `nextLsn` without a record will never have one. */
  skipTo(nextLsn: number): void {
    if (!Number.isSafeInteger(nextLsn) || nextLsn <= this.#state.lastLsn) {
      throw new RangeError(`nextLsn is ${nextLsn}; it must be above ${this.#state.lastLsn}`)
    }
    this.#state.lastLsn = nextLsn - 1
  }

  get lastLsn(): number {
    return this.#state.lastLsn
  }

  get lastAt(): number {
    return this.#state.lastAt
  }

  task(taskId: number): NaiveTask | undefined {
    return structuredClone(findTask(this.#state, taskId))
  }

  /** Whether no task is WAITING or LEASED. */
  isAllEnded(): boolean {
    return this.#state.tasks.every((task) => isTerminal(task))
  }

  /** All remembered tasks, by id. */
  tasks(): NaiveTask[] {
    return structuredClone(this.#state.tasks).sort((a, b) => a.taskId - b.taskId)
  }

  /** The WAITING tasks in the order in which they are leased, including tasks that are not eligible yet. */
  waiting(queue: string): number[] {
    return this.#state.tasks
      .filter((task) => task.state === 'WAITING' && task.queue === queue)
      .sort(byEligibility)
      .map((task) => task.taskId)
  }

  /** The first task of these queues that is eligible at `now`. */
  nextEligible(queues: readonly string[], now: number): number | undefined {
    return firstEligible(this.#state.tasks, now, ({ queue }) => queues.includes(queue))?.taskId
  }

  /** When the first waiting task of the queue becomes eligible. */
  nextEligibleAt(queue: string): number | undefined {
    const first = this.waiting(queue)[0]
    return first === undefined ? undefined : findTask(this.#state, first)!.eligibleAt
  }

  /** The lease that expires first. */
  nextExpiry(): { leaseId: number; at: number } | undefined {
    const first = this.leased()[0]
    if (first === undefined) return undefined
    const { leaseId, leaseExpiry } = openAttempt(findTask(this.#state, first)!)
    return { leaseId, at: leaseExpiry }
  }

  /** The names of all queues that have a task, even an ended one. */
  queues(): string[] {
    const names: string[] = []
    for (const task of this.#state.tasks) if (!names.includes(task.queue)) names.push(task.queue)
    return names.sort()
  }

  /** The LEASED tasks in the order in which they expire. */
  leased(): number[] {
    const expiryOf = (task: NaiveTask): number => openAttempt(task).leaseExpiry
    return this.#state.tasks
      .filter((task) => task.state === 'LEASED')
      .sort((a, b) => expiryOf(a) - expiryOf(b) || a.taskId - b.taskId)
      .map((task) => task.taskId)
  }

  /** The ended tasks in the order in which they ended. */
  ended(): number[] {
    return this.#state.tasks
      .filter((task) => task.endedLsn !== undefined)
      .sort((a, b) => a.endedLsn! - b.endedLsn!)
      .map((task) => task.taskId)
  }

  byRequestId(requestId: string): number | undefined {
    return findByRequestId(this.#state, requestId)?.taskId
  }

  counters(): NaiveCounters {
    const { counted, leases } = this.#state
    return { ...counted, ...countDuplicates(leases) }
  }

  /** An independent copy of the model. */
  clone(): NaiveModel {
    const copy = new NaiveModel()
    copy.#state = structuredClone(this.#state)
    return copy
  }
}
