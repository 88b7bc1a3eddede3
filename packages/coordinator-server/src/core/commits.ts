import {
  apply,
  decodeRecord,
  encodeRecord,
  type LogRecord,
  type State,
} from '@tenure/state-machine'
import { release, withhold } from '@tenure/state-machine/internal'
import type { Decision } from '../decide/decision.js'
import type { CommitLog } from './commit-log.js'
import { Locks } from './locks.js'
import type { PendingRequest } from './pending-request.js'

/** What a record on its way locks. */
export interface Holds {
  readonly taskId?: number
  readonly requestId?: string
}

export type Urgency = 'low' | 'normal' | 'high'

/** Whose request a record decides, and what is answered when it has been applied. */
export interface Reply {
  readonly to: PendingRequest
  readonly answer: Extract<Decision, { kind: 'record' }>['answer']
}

/** A record that is durable and has just been applied. */
export interface Applied {
  readonly record: LogRecord
  readonly reply: Reply | undefined
  /** Those who waited for this decision. */
  readonly freed: readonly PendingRequest[]
}

/**
 * Records from their decision to their effect: appended in the order of their LSNs, and applied in
 * that order when the log says that they are durable. Until then what a record is about is locked.
 */
export class Commits {
  readonly tasks = new Locks<number, PendingRequest>()
  readonly requestIds = new Locks<string, PendingRequest>()
  readonly #state: State
  readonly #log: CommitLog
  readonly #onDurable: (lsn: number) => void
  readonly #onFailure: (error: unknown) => void
  readonly #onTheirWay: OnItsWay[] = []
  #failure: Error | undefined
  /** The promise of the batch that is filling: all its appends share it. */
  #batch: Promise<number> | undefined

  /** `onDurable` is told up to where the log is durable, and has to call `settle`. */
  constructor(
    state: State,
    log: CommitLog,
    onDurable: (lsn: number) => void,
    onFailure: (error: unknown) => void,
  ) {
    this.#state = state
    this.#log = log
    this.#onDurable = onDurable
    this.#onFailure = onFailure
  }

  /** How many records are on their way. */
  get size(): number {
    return this.#onTheirWay.length
  }

  /**
   * Sends a record on its way; false when the disk has no room for it. When the log has failed the
   * record goes nowhere and is never answered: what was to come of it is unknown.
   */
  write(record: LogRecord, urgency: Urgency, holds: Holds, reply?: Reply): boolean {
    const bytes = encodeRecord(record)
    const { taskId, requestId } = holds
    try {
      const room = this.#log.claim(bytes.length, urgency)
      const lsn = this.#log.nextLsn
      this.#watch(this.#log.append(lsn, bytes, room))
      this.#onTheirWay.push({ lsn, bytes, taskId, requestId, reply })
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'WAL_NO_SPACE') return false
      this.#fail(error)
    }
    if (taskId !== undefined) {
      this.tasks.hold(taskId)
      withhold(this.#state, taskId)
    }
    if (requestId !== undefined) this.requestIds.hold(requestId)
    return true
  }

  /** Applies the records up to there, one after the other, and gives each before the next one is applied. */
  *settle(durableLsn: number): Generator<Applied> {
    const later = this.#onTheirWay.findIndex(({ lsn }) => lsn > durableLsn)
    const count = later === -1 ? this.#onTheirWay.length : later
    for (const entry of this.#onTheirWay.splice(0, count)) yield this.#apply(entry)
  }

  /** Settles when nothing is on its way; fails when the log has failed. */
  async idle(): Promise<void> {
    while (this.#onTheirWay.length > 0 && this.#failure === undefined) await this.#batch
    if (this.#failure !== undefined) throw this.#failure
  }

  #apply({ lsn, bytes, taskId, requestId, reply }: OnItsWay): Applied {
    // What is applied is what was written, byte for byte, as a replay will find it: a record that reads
    // otherwise than it was decided fails here, and not at the next start. That costs 0.1 µs for each
    // record, 1 to 4 % of a submission.
    const record = decodeRecord(bytes)
    apply(this.#state, lsn, record)
    let freed = nobody
    if (taskId !== undefined) {
      release(this.#state, taskId)
      freed = this.tasks.release(taskId)
    }
    if (requestId !== undefined) freed = [...freed, ...this.requestIds.release(requestId)]
    return { record, reply, freed }
  }

  #watch(batch: Promise<number>): void {
    if (batch === this.#batch) return
    this.#batch = batch
    batch.then(
      (durableLsn) => this.#tellDurable(durableLsn),
      (error) => this.#fail(error),
    )
  }

  #tellDurable(durableLsn: number): void {
    if (this.#failure !== undefined) return
    try {
      this.#onDurable(durableLsn)
    } catch (error) {
      // A record that was decided by the rules breaks them: nothing that follows could be trusted.
      this.#fail(error)
    }
  }

  #fail(error: unknown): void {
    if (this.#failure !== undefined) return
    this.#failure = error instanceof Error ? error : new Error(String(error))
    this.#onTheirWay.length = 0
    this.#onFailure(error)
  }
}

const nobody: readonly PendingRequest[] = []

/** Every field is always there: there is one for each record, and objects of one shape are quick. */
interface OnItsWay {
  readonly lsn: number
  readonly bytes: Uint8Array
  readonly taskId: number | undefined
  readonly requestId: string | undefined
  readonly reply: Reply | undefined
}
