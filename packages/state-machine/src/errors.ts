import type { RecordType } from './record.js'

/** Stable words for what can go wrong; the message beside them may change. The README lists them. */
export type StateMachineErrorCode =
  | 'STATE_MALFORMED_RECORD'
  | 'STATE_UNKNOWN_RECORD'
  | 'STATE_INVARIANT_VIOLATION'
  | 'STATE_MALFORMED_CHUNK'
  | 'STATE_BROKEN'

/** Every error this package raises on purpose. */
export class StateMachineError extends Error {
  readonly code: StateMachineErrorCode

  constructor(code: StateMachineErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StateMachineError'
    this.code = code
  }
}

/**
 * A record that must not be applied to this state: the log was made by a coordinator that broke the
 * rules, or something else than the next record was given. The state is as it was before.
 */
export class InvariantViolation extends StateMachineError {
  readonly recordType: RecordType
  readonly lsn: number
  /** The precondition, in the words of the specification. */
  readonly rule: string
  readonly got: unknown
  readonly expected: unknown

  constructor(recordType: RecordType, lsn: number, rule: string, got: unknown, expected: unknown) {
    super(
      'STATE_INVARIANT_VIOLATION',
      `${recordType} at LSN ${lsn}: ${rule}: got ${String(got)}, expected ${String(expected)}`,
    )
    this.name = 'InvariantViolation'
    this.recordType = recordType
    this.lsn = lsn
    this.rule = rule
    this.got = got
    this.expected = expected
  }
}

export function malformedState(why: string, options?: ErrorOptions): StateMachineError {
  const message = `the encoded state cannot be read: ${why}`
  return new StateMachineError('STATE_MALFORMED_CHUNK', message, options)
}
