import type { Clock } from '@tenure/seams'

/** How long it took until requests were served, and the parts of it. */
export interface RecoveryTimes extends Readonly<Record<RecoveryPart, number>> {
  /** All of it, from `recoveringSinceMs` of the options on. */
  readonly recoveryMs: number
}

/**
 * `openMs`: opening the log, which reads and checks what follows the newest checkpoint. `replayMs`: reading
 * that checkpoint and applying the records behind it. `checkpointMs`: keeping what they made, where a
 * restart may not have as much to replay again. `expiryMs`: writing down which leases have expired.
 */
export type RecoveryPart = 'openMs' | 'replayMs' | 'checkpointMs' | 'expiryMs'

/** Measures a start and its parts. */
export class RecoveryWatch {
  readonly #clock: Clock
  readonly #sinceMs: number
  readonly #parts = { openMs: 0, replayMs: 0, checkpointMs: 0, expiryMs: 0 }

  constructor(clock: Clock, sinceMs = clock.monotonicMs()) {
    this.#clock = clock
    this.#sinceMs = sinceMs
  }

  async measure<T>(part: RecoveryPart, work: () => Promise<T>): Promise<T> {
    const startedMs = this.#clock.monotonicMs()
    const result = await work()
    this.#parts[part] = this.#clock.monotonicMs() - startedMs
    return result
  }

  get times(): RecoveryTimes {
    return { recoveryMs: this.#clock.monotonicMs() - this.#sinceMs, ...this.#parts }
  }
}

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
