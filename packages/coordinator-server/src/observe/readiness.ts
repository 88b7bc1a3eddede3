import type { RecoveryTimes } from './recovery-times.js'

/** What `/readyz` tells: how long the start took, once requests are served. */
export interface Health extends Partial<RecoveryTimes> {
  /** Whether requests are served. */
  readonly isReady: boolean
  /** While the log is replayed: how much of it. */
  readonly replayed?: { readonly applied: number; readonly total: number }
}

/** Whether requests are served, from the start to the end. */
export class Readiness {
  #health: Health = { isReady: false }

  get health(): Health {
    return this.#health
  }

  replaying(applied: number, total: number): void {
    this.#health = { isReady: false, replayed: { applied, total } }
  }

  ready(recovery: RecoveryTimes): void {
    this.#health = { isReady: true, ...recovery }
  }

  ending(): void {
    this.#health = { isReady: false }
  }
}
