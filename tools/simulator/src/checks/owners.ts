import { holds } from '../violation.js'
import type { Process } from '../world/process.js'

/** A handler that runs and has not been told to end: its worker believes that it owns the task. */
export interface Owner {
  readonly taskId: number
  readonly leaseId: number
  readonly process: Process
  /** In which life of the coordinator the worker was last told so. */
  toldIn: number
}

/**
 * The point of leases: nobody gets a task while somebody else may still believe to own it, by any
 * clock that runs as well as it promises.
 */
export class Owners {
  readonly #owners = new Map<number, Owner>()
  readonly #isTimeHonest: () => boolean

  /** `isTimeHonest`: no wall clock was set, so that time goes on over restarts as it should. */
  constructor(isTimeHonest: () => boolean) {
    this.#isTimeHonest = isTimeHonest
  }

  begin(owner: Owner): void {
    const other = this.#owners.get(owner.taskId)
    this.#owners.set(owner.taskId, owner)
    // Who stands still or is dead does nothing, whatever it believes.
    if (other === undefined || other.process.isPaused || other.process.isOver) return
    const isOneLife = other.toldIn === owner.toldIn
    holds(!isOneLife && !this.#isTimeHonest(), 'a task has one owner', () => {
      const { taskId, leaseId } = owner
      return `lease ${leaseId} of task ${taskId} begins while ${other.leaseId} is believed in`
    })
  }

  toldAgain(leaseId: number, life: number): void {
    for (const owner of this.#owners.values()) if (owner.leaseId === leaseId) owner.toldIn = life
  }

  end(owner: Owner): void {
    if (this.#owners.get(owner.taskId) === owner) this.#owners.delete(owner.taskId)
  }
}
