import type { Answer, NewRequest, RequestKind } from '@tenure/protocol'
import { isPoll } from '@tenure/protocol/internal'
import type { TenureError } from '../errors.js'
import { throwLater } from '../uncaught.js'
import type { RequestOptions } from './limit.js'
import type { PendingRequest } from './request-table.js'

/**
 * Hears the answer, or why there is none. `wasSentBefore`: over a connection that was lost, too, so a
 * refusal says only what became of the last sending.
 */
export type Settle = (outcome: Answer | TenureError, wasSentBefore: boolean) => void

/** A request and the one who waits for its answer. */
export class Call implements PendingRequest {
  readonly id: number
  readonly kind: RequestKind
  readonly isPoll: boolean
  readonly requestId: string | undefined
  readonly frame: Uint8Array
  readonly timeoutMs: number
  wasSent: boolean
  #wasSentBefore = false
  dueMs = Number.POSITIVE_INFINITY
  /** Takes the call off the signal that may abort it. */
  forgetSignal: (() => void) | undefined
  readonly #options: RequestOptions
  readonly #onOver: (call: Call) => void
  readonly #settle: Settle

  /** `onOver` is told once, when the call is over, before whoever waits for it. */
  constructor(
    id: number,
    request: NewRequest,
    frame: Uint8Array,
    options: RequestOptions,
    timeoutMs: number,
    onOver: (call: Call) => void,
    settle: Settle,
  ) {
    this.id = id
    this.kind = request.kind
    this.isPoll = isPoll(request)
    this.requestId = request.kind === 'submit' ? request.requestId : undefined
    this.frame = frame
    this.timeoutMs = timeoutMs
    this.wasSent = options.wasSent ?? false
    this.#options = options
    this.#onOver = onOver
    this.#settle = settle
  }

  get retry(): boolean {
    return this.#options.retry ?? false
  }

  /** Who throws has not said yes. */
  get maySend(): boolean {
    try {
      return this.#options.maySend?.() ?? true
    } catch (error) {
      throwLater(error)
      return false
    }
  }

  sent(): void {
    this.#wasSentBefore = this.wasSent
    this.wasSent = true
    try {
      this.#options.onSent?.(this.id)
    } catch (error) {
      throwLater(error)
    }
  }

  settle(outcome: Answer | TenureError): void {
    this.#onOver(this)
    // Why there is no answer may be known before the question is asked to its end.
    if (outcome instanceof Error) queueMicrotask(() => this.#settle(outcome, this.#wasSentBefore))
    else this.#tell(outcome)
  }

  /** Other answers arrived in the same bytes: one who throws must not keep them from those they are for. */
  #tell(answer: Answer): void {
    try {
      this.#settle(answer, this.#wasSentBefore)
    } catch (error) {
      throwLater(error)
    }
  }
}
