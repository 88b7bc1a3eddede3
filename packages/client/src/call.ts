import { type Answer, isPoll, type NewRequest, type RequestKind } from '@tenure/protocol'
import type { TenureError } from './errors.js'
import type { RequestOptions } from './request-options.js'
import type { PendingRequest } from './request-table.js'

/** What a call is made of. */
interface CallParts {
  readonly id: number
  readonly request: NewRequest
  readonly frame: Uint8Array
  readonly options: RequestOptions
  readonly timeoutMs: number
  /** Told once, when the call is over, before whoever waits for it. */
  readonly onOver: (call: Call) => void
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: TenureError) => void
}

/** A request and the one who waits for its answer. */
export class Call implements PendingRequest {
  readonly id: number
  readonly kind: RequestKind
  readonly isPoll: boolean
  readonly requestId: string | undefined
  readonly frame: Uint8Array
  readonly retry: boolean
  readonly maySend: (() => boolean) | undefined
  readonly onSent: ((id: number) => void) | undefined
  readonly timeoutMs: number
  wasSent = false
  dueMs = Number.POSITIVE_INFINITY
  /** Takes the call off the signal that may abort it. */
  forgetSignal: (() => void) | undefined
  readonly #onOver: (call: Call) => void
  readonly #resolve: (answer: Answer) => void
  readonly #reject: (error: TenureError) => void

  constructor(parts: CallParts) {
    const { request, options } = parts
    this.id = parts.id
    this.kind = request.kind
    this.isPoll = isPoll(request)
    this.requestId = request.kind === 'submit' ? request.requestId : undefined
    this.frame = parts.frame
    this.retry = options.retry ?? false
    this.maySend = options.maySend
    this.onSent = options.onSent
    this.timeoutMs = parts.timeoutMs
    this.#onOver = parts.onOver
    this.#resolve = parts.resolve
    this.#reject = parts.reject
  }

  settle(outcome: Answer | TenureError): void {
    this.#onOver(this)
    if (outcome instanceof Error) this.#reject(outcome)
    else this.#resolve(outcome)
  }
}
