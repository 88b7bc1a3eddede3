import type { RetryPolicy } from '@tenure/options'
import type { RecordOf } from '@tenure/state-machine'

/** The relevant options of a submission. */
export interface Submitted {
  readonly executionWindowMs: number
  readonly retryPolicy: RetryPolicy
}

/** Millions of tasks may be waiting, most with the same options, so equal options are stored once. */
export class Submissions {
  readonly #byTask = new Map<number, Submitted>()
  readonly #known = new Map<string, Submitted>()

  add({ taskId, executionWindowMs, retryPolicy }: RecordOf<'TaskCreated'>): void {
    const { maxRetries, backoff } = retryPolicy
    const key = [executionWindowMs, maxRetries, ...Object.values(backoff)].join()
    const submitted = this.#known.get(key) ?? { executionWindowMs, retryPolicy }
    if (this.#known.size < knownMax) this.#known.set(key, submitted)
    this.#byTask.set(taskId, submitted)
  }

  get(taskId: number): Submitted | undefined {
    return this.#byTask.get(taskId)
  }

  delete(taskId: number): void {
    this.#byTask.delete(taskId)
  }
}

const knownMax = 1000
