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
  /** The request was sent and no answer came: it may have been carried out, or may still be. */
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

/** The coordinator refused, and nothing has changed. */
export class RejectedError extends TenureError {
  readonly reason: Reason
  /** When to come back, where coming back helps. */
  readonly retryAfterMs: number | undefined

  constructor(
    { reason, message, retryAfterMs }: Rejection,
    options: Omit<TenureErrorOptions, 'outcomeUnknown'> = {},
  ) {
    super('CLIENT_REJECTED', `${reason}: ${message}`, options)
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

export function badArgument(name: string, got: string, expected: string): TenureError {
  return new TenureError('CLIENT_BAD_ARGUMENT', `${name} is ${got}; it must be ${expected}`)
}
