import type { Clock } from '@tenure/seams'

/** Duration of startup until requests were served, and of its parts. */
export interface RecoveryTimes extends Readonly<Record<RecoveryPart, number>> {
  /** The total, measured from the option `recoveringSinceMs`. */
  readonly recoveryMs: number
}

/**
 * - `openMs`: opens the log, which reads and checks the records after the newest checkpoint.
 * - `replayMs`: reads that checkpoint and applies the records after it.
 * - `checkpointMs`: writes a checkpoint of the result, if the replay was long.
 * - `expiryMs`: records expired leases.
 */
export type RecoveryPart = 'openMs' | 'replayMs' | 'checkpointMs' | 'expiryMs'

/** Measures startup and its parts. */
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

/** The body of `/readyz`. It contains the startup times once requests are served. */
export interface Health extends Partial<RecoveryTimes> {
  /** Whether requests are served. */
  readonly isReady: boolean
  /** Whether another coordinator is active, and what this one has heard of the shared log. */
  readonly role?: 'standby'
  readonly seq?: number
  readonly epoch?: number
  /** Progress during replay. */
  readonly replayed?: { readonly applied: number; readonly total: number }
}

/** A replica, as far as its health is concerned. */
interface FollowingReplica {
  readonly end: { readonly seq: number }
  readonly epoch: number
  readonly isLeading: boolean
}

/** Whether requests are served. */
export class Readiness {
  #health: Health = { isReady: false }

  get health(): Health {
    return this.#health
  }

  replaying(applied: number, total: number): void {
    this.#health = { isReady: false, replayed: { applied, total } }
  }

  /** A standby follows the shared log. */
  following({ end, epoch, isLeading }: FollowingReplica): void {
    if (!isLeading) this.#health = { isReady: false, role: 'standby', seq: end.seq, epoch }
  }

  ready(recovery: RecoveryTimes): void {
    this.#health = { isReady: true, ...recovery }
  }

  ending(): void {
    this.#health = { isReady: false }
  }
}
