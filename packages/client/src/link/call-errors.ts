import { describeUnknownOutcome, TenureError } from '../errors.js'

/** The state of a call that its error reports. */
export interface CallFacts {
  readonly wasSent: boolean
  readonly requestId?: string | undefined
}

const neverSent: CallFacts = { wasSent: false }

export function aborted(signal: AbortSignal | undefined, call = neverSent): TenureError {
  return make(
    'CLIENT_ABORTED',
    'the call was aborted by the AbortSignal that it was given',
    call,
    signal?.reason,
  )
}

export function closed(call = neverSent): TenureError {
  return make('CLIENT_CLOSED', 'the client is closed', call)
}

export function timedOut(
  timeoutMs: number | undefined,
  call: CallFacts,
  cause?: TenureError,
): TenureError {
  return make('CLIENT_TIMEOUT', `no answer within ${timeoutMs} ms`, call, cause)
}

/** The connection was lost, and the request may not or could not be sent again. */
export function lost(cause: TenureError | undefined, call: CallFacts): TenureError {
  const why = cause === undefined ? '' : `: ${cause.message}`
  return make('CLIENT_DISCONNECTED', `the connection was lost before the answer${why}`, call, cause)
}

/** `maySend` vetoed the request. */
export function withheld(call: CallFacts): TenureError {
  return make('CLIENT_WITHHELD', 'not sent, because maySend did not allow it', call)
}

export function unreachable(
  timeoutMs: number | undefined,
  cause: TenureError | undefined,
  call = neverSent,
): TenureError {
  const why = cause === undefined ? '' : `: ${cause.message}`
  return make('CLIENT_UNREACHABLE', `no connection within ${timeoutMs} ms${why}`, call, cause)
}

function make(
  code: TenureError['code'],
  message: string,
  { wasSent, requestId }: CallFacts,
  cause?: unknown,
): TenureError {
  const told = { outcomeUnknown: wasSent, requestId }
  // An explicit `cause: undefined` would be displayed.
  const options = cause === undefined ? told : { ...told, cause }
  return new TenureError(code, `${message}${describeUnknownOutcome(options)}`, options)
}
