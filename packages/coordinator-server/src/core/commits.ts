import {
  apply,
  decodeRecord,
  encodeRecord,
  type LogRecord,
  release,
  type State,
  withhold,
} from '@tenure/state-machine'
import type { CommitLog } from './commit-log.js'
import { Locks } from './locks.js'

/** What becomes of records on their way, for the core loop. */
export interface CommitHooks<Waiter> {
  /** The record is on its way: what it decides will be so. */
  decided(record: LogRecord): void
  /** It has been applied; it has not been answered yet. */
  after(record: LogRecord): void
  /** A batch has been applied and answered; these waited for one of its decisions. */
  settled(freed: readonly Waiter[]): void
  failed(error: unknown): void
}

/** What a record on its way locks. */
export interface Holds {
  readonly taskId?: number
  readonly requestId?: string
}

export type Urgency = 'low' | 'normal' | 'high'

/**
 * Records from their decision to their effect: appended in the order of their LSNs, and applied in
 * that order when the log says that they are durable. Until then what a record is about is locked.
 */
export class Commits<Waiter> {
  readonly tasks = new Locks<number, Waiter>()
  readonly requestIds = new Locks<string, Waiter>()
  readonly #state: State
  readonly #log: CommitLog
  readonly #hooks: CommitHooks<Waiter>
  readonly #onTheirWay: OnItsWay[] = []
  #failure: Error | undefined
  /** The promise of the batch that is filling: all its appends share it. */
  #batch: Promise<number> | undefined

  constructor(state: State, log: CommitLog, hooks: CommitHooks<Waiter>) {
    this.#state = state
    this.#log = log
    this.#hooks = hooks
  }

  /** How many records are on their way. */
  get size(): number {
    return this.#onTheirWay.length
  }

  /**
   * Sends a record on its way; false when the disk has no room for it. When the log has failed the
   * record goes nowhere and is never answered: what was to come of it is unknown.
   */
  write(record: LogRecord, urgency: Urgency, holds: Holds, onApplied?: () => void): boolean {
    const bytes = encodeRecord(record)
    const { taskId, requestId } = holds
    try {
      const room = this.#log.claim(bytes.length, urgency)
      const lsn = this.#log.nextLsn
      this.#watch(this.#log.append(lsn, bytes, room))
      this.#onTheirWay.push({ lsn, bytes, taskId, requestId, onApplied })
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'WAL_NO_SPACE') return false
      this.#fail(error)
    }
    if (taskId !== undefined) {
      this.tasks.hold(taskId)
      withhold(this.#state, taskId)
    }
    if (requestId !== undefined) this.requestIds.hold(requestId)
    this.#hooks.decided(record)
    return true
  }

  /** Settles when nothing is on its way; fails when the log has failed. */
  async idle(): Promise<void> {
    while (this.#onTheirWay.length > 0 && this.#failure === undefined) await this.#batch
    if (this.#failure !== undefined) throw this.#failure
  }

  #watch(batch: Promise<number>): void {
    if (batch === this.#batch) return
    this.#batch = batch
    batch.then(
      (durableLsn) => this.#settle(durableLsn),
      (error) => this.#fail(error),
    )
  }

  #settle(durableLsn: number): void {
    if (this.#failure !== undefined) return
    const freed: Waiter[] = []
    try {
      const arrived = this.#onTheirWay.findIndex(({ lsn }) => lsn > durableLsn)
      const count = arrived === -1 ? this.#onTheirWay.length : arrived
      for (const entry of this.#onTheirWay.splice(0, count)) this.#apply(entry, freed)
      this.#hooks.settled(freed)
    } catch (error) {
      // A record that was decided by the rules breaks them: nothing that follows could be trusted.
      this.#fail(error)
    }
  }

  #apply({ lsn, bytes, taskId, requestId, onApplied }: OnItsWay, freed: Waiter[]): void {
    // What is applied is what was written, byte for byte, as a replay will find it.
    const record = decodeRecord(bytes)
    apply(this.#state, lsn, record)
    this.#hooks.after(record)
    if (taskId !== undefined) {
      release(this.#state, taskId)
      for (const waiter of this.tasks.release(taskId)) freed.push(waiter)
    }
    if (requestId !== undefined) {
      for (const waiter of this.requestIds.release(requestId)) freed.push(waiter)
    }
    onApplied?.()
  }

  #fail(error: unknown): void {
    if (this.#failure !== undefined) return
    this.#failure = error instanceof Error ? error : new Error(String(error))
    this.#onTheirWay.length = 0
    this.#hooks.failed(error)
  }
}

/** Every field is always there: there is one for each record, and objects of one shape are quick. */
interface OnItsWay {
  readonly lsn: number
  readonly bytes: Uint8Array
  readonly taskId: number | undefined
  readonly requestId: string | undefined
  readonly onApplied: (() => void) | undefined
}
