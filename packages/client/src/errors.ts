import { Checks } from '@tenure/options'
import type { Reason } from '@tenure/protocol'

/** Stable error codes. Messages may change. */
export type TenureErrorCode =
  | 'CLIENT_ABORTED'
  | 'CLIENT_TIMEOUT'
  | 'CLIENT_DISCONNECTED'
  | 'CLIENT_UNREACHABLE'
  | 'CLIENT_WITHHELD'
  | 'CLIENT_CLOSED'
  | 'CLIENT_BAD_ARGUMENT'
  | 'CLIENT_PROTOCOL'
  | 'CLIENT_OTHER_LOG'
  | 'CLIENT_TOO_LARGE'
  | 'CLIENT_REJECTED'

export interface TenureErrorOptions extends ErrorOptions {
  readonly outcomeUnknown?: boolean
  readonly requestId?: string | undefined
}

/** Every error that this package throws deliberately. */
export class TenureError extends Error {
  readonly code: TenureErrorCode
  /** The request was sent but not answered, so it may have been or may still be carried out. */
  readonly outcomeUnknown: boolean
  /** For a submission: the idempotency key with which it can safely be submitted again. */
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
 * The coordinator rejected the request. Nothing has changed, unless `outcomeUnknown` is set: then an earlier
 * copy, sent over a lost connection, may have been carried out.
 */
export class RejectedError extends TenureError {
  readonly reason: Reason
  /** Delay after which a retry makes sense. */
  readonly retryAfterMs: number | undefined
  /** With NOT_ACTIVE: the address of the active coordinator, if the standby knows it. */
  readonly active: string | undefined

  constructor(
    { reason, message, retryAfterMs, active }: Rejection,
    options: TenureErrorOptions = {},
  ) {
    super('CLIENT_REJECTED', `${reason}: ${message}${describeUnknownOutcome(options)}`, options)
    this.name = 'RejectedError'
    this.reason = reason
    this.retryAfterMs = retryAfterMs
    this.active = active
  }
}

interface Rejection {
  readonly reason: Reason
  readonly message: string
  readonly retryAfterMs?: number | undefined
  readonly active?: string | undefined
}

/** The coordinator broke the protocol. */
export function protocolError(problem: string, options?: TenureErrorOptions): TenureError {
  const remedy = "Use a client of the coordinator's release, or report a bug"
  return new TenureError('CLIENT_PROTOCOL', `${problem}. ${remedy}`, options)
}

/** The part of a message that tells that the outcome is unknown. */
export function describeUnknownOutcome({ outcomeUnknown = false }: TenureErrorOptions): string {
  return outcomeUnknown ? '; it is unknown whether the request was carried out' : ''
}

/** Checks arguments and options. */
export const check = new Checks((message) => new TenureError('CLIENT_BAD_ARGUMENT', message))

/** Permanent rejections. */
export const finalReasons: readonly Reason[] = ['UNAUTHORIZED', 'UNSUPPORTED_VERSION', 'FORBIDDEN']

/** Rejections which prove that no earlier copy of the same submission or kill was carried out. */
export const decidingReasons: readonly Reason[] = ['CONFLICT', 'TASK_TERMINAL']
