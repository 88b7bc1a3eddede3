/** Stable error codes. Messages may change. The README lists the codes. */
export type HistoryErrorCode =
  | 'HISTORY_REMOVED'
  | 'HISTORY_NOT_YET'
  | 'HISTORY_UNDECLARED_GAP'
  | 'HISTORY_UNREADABLE_RECORD'
  | 'HISTORY_BAD_KNOB'

/**
 * Every error that this package throws on purpose. Errors of the log and the state machine pass
 * through unchanged.
 */
export class HistoryError extends Error {
  readonly code: HistoryErrorCode

  constructor(code: HistoryErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'HistoryError'
    this.code = code
  }
}
