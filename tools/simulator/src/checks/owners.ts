import { holds } from '../violation.js'
import type { Process } from '../world/process.js'

/** A running handler that was not told to end: its worker believes that it owns the task. */
export interface Owner {
  readonly taskId: number
  readonly leaseId: number
  readonly process: Process
  /** The life of the coordinator in which the worker last heard about the lease. */
  toldIn: number
}

/**
 * The purpose of leases: no worker gets a task while another one may still believe that it owns it,
 * as long as all clocks keep their promised rate.
 */
export class Owners {
  readonly #owners = new Map<number, Owner>()
  readonly #isTimeHonest: () => boolean

  /** `isTimeHonest`: no wall clock was set, so that time continues correctly over restarts. */
  constructor(isTimeHonest: () => boolean) {
    this.#isTimeHonest = isTimeHonest
  }

  begin(owner: Owner): void {
    const other = this.#owners.get(owner.taskId)
    this.#owners.set(owner.taskId, owner)
    // A stopped or dead worker does nothing, whatever it believes.
    if (other === undefined || other.process.isPaused || other.process.isOver) return
    const isOneLife = other.toldIn === owner.toldIn
    holds(!isOneLife && !this.#isTimeHonest(), 'a task has one owner', () => {
      const { taskId, leaseId } = owner
      return `lease ${leaseId} of task ${taskId} begins while a worker still believes in lease ${other.leaseId}`
    })
  }

  toldAgain(leaseId: number, life: number): void {
    for (const owner of this.#owners.values()) if (owner.leaseId === leaseId) owner.toldIn = life
  }

  end(owner: Owner): void {
    if (this.#owners.get(owner.taskId) === owner) this.#owners.delete(owner.taskId)
  }
}
