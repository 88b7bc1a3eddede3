/** Stable error codes, listed in the README. Messages may change. */
export type CoordinatorErrorCode =
  | 'COORDINATOR_BAD_OPTION'
  | 'COORDINATOR_EXPOSED'
  | 'COORDINATOR_CANNOT_LISTEN'
  | 'COORDINATOR_FAILED'
  | 'COORDINATOR_STOPPED'
  | 'LEADERSHIP_LOST'

export interface CoordinatorErrorOptions extends ErrorOptions {
  readonly option?: 'host' | 'httpHost'
}

/** Every error that this package throws deliberately. Errors of the log pass through unchanged. */
export class CoordinatorError extends Error {
  readonly code: CoordinatorErrorCode
  /** For `COORDINATOR_EXPOSED`: the option with the address, `host` or `httpHost`. */
  readonly option: 'host' | 'httpHost' | undefined

  constructor(code: CoordinatorErrorCode, message: string, options: CoordinatorErrorOptions = {}) {
    super(message, options)
    this.name = 'CoordinatorError'
    this.code = code
    this.option = options.option
  }
}

/** `peers` use the port that `option` sets. */
export function cannotListen(
  peers: string,
  option: 'port' | 'httpPort',
  cause: unknown,
): CoordinatorError {
  const why = cause instanceof Error ? cause.message : String(cause)
  const isTaken = cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE'
  const remedy = isTaken
    ? `. Stop the program that uses it, most likely another coordinator, or set ${option} to another port.`
    : ''
  const message = `cannot listen for ${peers}: ${why}${remedy}`
  return new CoordinatorError('COORDINATOR_CANNOT_LISTEN', message, { cause })
}
