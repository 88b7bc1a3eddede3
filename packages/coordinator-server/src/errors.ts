/** Stable error codes, listed in the README. Messages may change. */
export type CoordinatorErrorCode =
  | 'COORDINATOR_BAD_OPTION'
  | 'COORDINATOR_EXPOSED'
  | 'COORDINATOR_CANNOT_LISTEN'
  | 'COORDINATOR_FAILED'

/** Every error that this package throws deliberately. Errors of the log pass through unchanged. */
export class CoordinatorError extends Error {
  readonly code: CoordinatorErrorCode

  constructor(code: CoordinatorErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'CoordinatorError'
    this.code = code
  }
}
