/** Which execution of which task something is about. */
export interface TaskFacts {
  readonly taskId: number
  readonly queue: string
  /** Which execution of the task this is, counted from 1. */
  readonly attempt: number
  /**
   * Grows with every lease, over all tasks and restarts: a fencing token. A store that remembers the
   * highest one it has seen and refuses lower ones is safe from an execution that has lost its lease.
   */
  readonly leaseId: number
}

/** What a handler is given to work on. */
export interface Work extends TaskFacts {
  readonly payload: Uint8Array
  /** When the signal aborts at the latest, in milliseconds since the epoch: the execution window is over. */
  readonly deadline: number
}
