/** Stable words for what can go wrong; the message beside them may change. The README lists them. */
export type CoordinatorErrorCode =
  | 'COORDINATOR_BAD_OPTION'
  | 'COORDINATOR_EXPOSED'
  | 'COORDINATOR_CANNOT_LISTEN'
  | 'COORDINATOR_FAILED'

/** Every error this package raises on purpose. Those of the log come as they are. */
export class CoordinatorError extends Error {
  readonly code: CoordinatorErrorCode

  constructor(code: CoordinatorErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'CoordinatorError'
    this.code = code
  }
}
