/** Stable words for what can go wrong; the message beside them may change. The README lists them. */
export type HistoryErrorCode =
  | 'HISTORY_REMOVED'
  | 'HISTORY_NOT_YET'
  | 'HISTORY_UNDECLARED_GAP'
  | 'HISTORY_UNREADABLE_RECORD'
  | 'HISTORY_BAD_KNOB'

/** Every error this package raises on purpose. What the log or the state machine refuses comes as it is. */
export class HistoryError extends Error {
  readonly code: HistoryErrorCode

  constructor(code: HistoryErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'HistoryError'
    this.code = code
  }
}
