import type { Answer, NewRequest, RequestKind } from '@tenure/protocol'
import { isPoll } from '@tenure/protocol/internal'
import type { TenureError } from '../errors.js'
import { throwLater } from '../uncaught.js'
import type { RequestOptions } from './limit.js'
import type { PendingRequest } from './request-table.js'

/**
 * Receives the answer or an error. `wasSentBefore` means that the request was also sent over a connection that
 * was lost; a rejection then says nothing about that earlier copy.
 */
export type Settle = (outcome: Answer | TenureError, wasSentBefore: boolean) => void

/** A request with its callback. */
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
  /** Removes the abort listener. */
  forgetSignal: (() => void) | undefined
  readonly #options: RequestOptions
  readonly #onOver: (call: Call) => void
  readonly #settle: Settle

  /** `onOver` is called once at the end, before `settle`. */
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

  /** A `maySend` that throws counts as a veto. */
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
    // A call may fail before `ask` returns; defer the callback.
    if (outcome instanceof Error) queueMicrotask(() => this.#settle(outcome, this.#wasSentBefore))
    else this.#tell(outcome)
  }

  /** A callback that throws must not prevent the delivery of other answers from the same bytes. */
  #tell(answer: Answer): void {
    try {
      this.#settle(answer, this.#wasSentBefore)
    } catch (error) {
      throwLater(error)
    }
  }
}
