import { countDuplicates } from './duplicates.js'
import { takeEffect } from './effects.js'
import type { NaiveRecord } from './record.js'
import { findBrokenRule } from './rules.js'
import { byEligibility, firstEligible } from './standing.js'
import { emptyState, findByRequestId, findTask, type NaiveCounters } from './state.js'
import { isTerminal, type NaiveTask, openAttempt } from './task.js'

/**
 * The state machine of the specification, written a second time to be compared with the real one.
 *
 * One array of tasks; every question is answered by going through all of it. It is slow on purpose:
 * there is no index that could disagree with the tasks, so what it says follows from the rules and
 * effects alone. Everything it hands out is a copy.
 */
export class NaiveModel {
  #state = emptyState()

  /** The rule that the record breaks, in which case nothing has changed; `undefined` if none. */
  apply(lsn: number, record: NaiveRecord): string | undefined {
    const brokenRule = findBrokenRule(this.#state, lsn, record)
    if (brokenRule === undefined) takeEffect(this.#state, lsn, record)
    return brokenRule
  }

  /** A declared gap: LSNs below `nextLsn` that have no record yet will never have one. */
  skipTo(nextLsn: number): void {
    if (!Number.isSafeInteger(nextLsn) || nextLsn <= this.#state.lastLsn) {
      throw new RangeError(`a gap ends behind LSN ${this.#state.lastLsn}, got ${nextLsn}`)
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

  /** No task is WAITING or LEASED. */
  isAllEnded(): boolean {
    return this.#state.tasks.every((task) => isTerminal(task))
  }

  /** All that are remembered, by id. */
  tasks(): NaiveTask[] {
    return structuredClone(this.#state.tasks).sort((a, b) => a.taskId - b.taskId)
  }

  /** In the order in which they are leased, including those that are not eligible yet. */
  waiting(queue: string): number[] {
    return this.#state.tasks
      .filter((task) => task.state === 'WAITING' && task.queue === queue)
      .sort(byEligibility)
      .map((task) => task.taskId)
  }

  /** The first of these queues' tasks that is eligible at `now`. */
  nextEligible(queues: readonly string[], now: number): number | undefined {
    return firstEligible(this.#state.tasks, now, ({ queue }) => queues.includes(queue))?.taskId
  }

  /** When the first of the queue's waiting tasks is eligible. */
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

  /** A queue exists while a task names it, even one that has ended. */
  queues(): string[] {
    const names: string[] = []
    for (const task of this.#state.tasks) if (!names.includes(task.queue)) names.push(task.queue)
    return names.sort()
  }

  /** In the order in which they expire. */
  leased(): number[] {
    const expiryOf = (task: NaiveTask): number => openAttempt(task).leaseExpiry
    return this.#state.tasks
      .filter((task) => task.state === 'LEASED')
      .sort((a, b) => expiryOf(a) - expiryOf(b) || a.taskId - b.taskId)
      .map((task) => task.taskId)
  }

  /** In the order in which they ended. */
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

  /** A model that goes its own way from here on. */
  clone(): NaiveModel {
    const copy = new NaiveModel()
    copy.#state = structuredClone(this.#state)
    return copy
  }
}
