/** Stable error codes. Messages may change. */
export type SharedLogErrorCode =
  /** An entry of another log, or something that is no entry. */
  | 'LOG_FOREIGN'
  /** An entry that fails its checksums, or does not continue the one before. */
  | 'LOG_DAMAGED'
  /** An entry of a newer release. */
  | 'LOG_NEWER_FORMAT'
  /** The shared log ends before a place that a copy of it has reached. */
  | 'LOG_LOST'
  /** The entries that a follower needs were removed. */
  | 'LOG_TRUNCATED'
  /** Two coordinators computed different states from the same records. */
  | 'STATE_DIVERGED'
  /** The engine has no such log. */
  | 'LOG_MISSING'

/** An error that stops a node. The message says what happened and what to do. */
export class SharedLogError extends Error {
  readonly code: SharedLogErrorCode

  constructor(code: SharedLogErrorCode, problem: string, remedy: string, options?: ErrorOptions) {
    super(`${problem}. ${remedy}.`, options)
    this.name = 'SharedLogError'
    this.code = code
  }
}
