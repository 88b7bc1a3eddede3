import { Checks } from '@tenure/options'
import type { Reason } from '@tenure/protocol'

/** Stable words for what can go wrong; the message beside them may change. */
export type TenureErrorCode =
  | 'CLIENT_ABORTED'
  | 'CLIENT_TIMEOUT'
  | 'CLIENT_DISCONNECTED'
  | 'CLIENT_UNREACHABLE'
  | 'CLIENT_WITHHELD'
  | 'CLIENT_CLOSED'
  | 'CLIENT_BAD_ARGUMENT'
  | 'CLIENT_PROTOCOL'
  | 'CLIENT_TOO_LARGE'
  | 'CLIENT_REJECTED'

export interface TenureErrorOptions extends ErrorOptions {
  readonly outcomeUnknown?: boolean
  readonly requestId?: string | undefined
}

/** Every error this package raises on purpose. */
export class TenureError extends Error {
  readonly code: TenureErrorCode
  /** The request was sent, and no answer came that says what became of it: it may have been carried out, or may still be. */
  readonly outcomeUnknown: boolean
  /** Of a submission: the id under which it can be submitted again without becoming two tasks. */
  readonly requestId: string | undefined

  constructor(code: TenureErrorCode, message: string, options: TenureErrorOptions = {}) {
    super(message, options)
    this.name = 'TenureError'
    this.code = code
    this.outcomeUnknown = options.outcomeUnknown ?? false
    this.requestId = options.requestId
  }
}

/**
 * The coordinator refused, and nothing has changed; where `outcomeUnknown`, it refused what had been sent
 * before, over a connection that was lost, and may have been carried out then.
 */
export class RejectedError extends TenureError {
  readonly reason: Reason
  /** When to come back, where coming back helps. */
  readonly retryAfterMs: number | undefined

  constructor({ reason, message, retryAfterMs }: Rejection, options: TenureErrorOptions = {}) {
    super('CLIENT_REJECTED', `${reason}: ${message}${sequelOf(options)}`, options)
    this.name = 'RejectedError'
    this.reason = reason
    this.retryAfterMs = retryAfterMs
  }
}

interface Rejection {
  readonly reason: Reason
  readonly message: string
  readonly retryAfterMs?: number | undefined
}

/** What a message says of an outcome that is not known. */
export function sequelOf({ outcomeUnknown = false }: TenureErrorOptions): string {
  return outcomeUnknown ? '; whether the request was carried out is not known' : ''
}

/** Checks what a caller gives. */
export const check = new Checks((message) => new TenureError('CLIENT_BAD_ARGUMENT', message))

/** Rejections that no retry changes. */
export const finalReasons: readonly Reason[] = ['UNAUTHORIZED', 'UNSUPPORTED_VERSION', 'FORBIDDEN']

/** Rejections which prove that no earlier copy of the same submission or kill was carried out. */
export const decidingReasons: readonly Reason[] = ['CONFLICT', 'TASK_TERMINAL']
