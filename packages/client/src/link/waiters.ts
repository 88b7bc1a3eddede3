import type { Clock } from '@tenure/seams'
import type { TenureError } from '../errors.js'
import type { Aborts } from './aborts.js'
import { aborted } from './call-errors.js'
import { type CallOptions, Limit } from './limit.js'

/** Callers that wait for the same event, each with its own timeout and signal. */
export class Waiters<T> {
  readonly #clock: Clock
  readonly #aborts: Aborts
  readonly #waiting = new Set<{ happened(value: T): void; failed(error: TenureError): void }>()

  constructor(clock: Clock, aborts: Aborts) {
    this.#clock = clock
    this.#aborts = aborts
  }

  /** `onTimeout` returns the outcome of a wait that timed out: a value or an error. */
  wait(options: CallOptions, onTimeout: () => T | TenureError): Promise<T> {
    return new Promise((resolve, reject) => {
      const end = () => {
        limit.release()
        this.#waiting.delete(waiter)
      }
      const waiter = {
        happened: (value: T) => {
          end()
          resolve(value)
        },
        failed: (error: TenureError) => {
          end()
          reject(error)
        },
      }
      const limit = new Limit(this.#clock, this.#aborts, options, (why) => {
        const outcome = why === 'aborted' ? aborted(options.signal) : onTimeout()
        if (outcome instanceof Error) waiter.failed(outcome)
        else waiter.happened(outcome)
      })
      this.#waiting.add(waiter)
    })
  }

  happened(value: T): void {
    for (const waiter of [...this.#waiting]) waiter.happened(value)
  }

  failed(error: TenureError): void {
    for (const waiter of [...this.#waiting]) waiter.failed(error)
  }
}
