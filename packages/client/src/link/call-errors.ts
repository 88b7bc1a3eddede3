import { sequelOf, TenureError } from '../errors.js'

/** Of a call: whether it may have been carried out, and the name under which to ask again. */
export interface CallFacts {
  readonly wasSent: boolean
  readonly requestId?: string | undefined
}

const neverSent: CallFacts = { wasSent: false }

export function aborted(signal: AbortSignal | undefined, call = neverSent): TenureError {
  return make('CLIENT_ABORTED', 'aborted by its signal', call, signal?.reason)
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

/** The connection is gone, and the request is not sent again, or could not be in time. */
export function lost(cause: TenureError | undefined, call: CallFacts): TenureError {
  const why = cause === undefined ? '' : `: ${cause.message}`
  return make('CLIENT_DISCONNECTED', `the connection was lost before the answer${why}`, call, cause)
}

/** Its caller did not want it to be sent any more. */
export function withheld(call: CallFacts): TenureError {
  return make('CLIENT_WITHHELD', 'it was too late to send it', call)
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
  // An error with a cause of `undefined` would be shown with one.
  const options = cause === undefined ? told : { ...told, cause }
  return new TenureError(code, `${message}${sequelOf(options)}`, options)
}
