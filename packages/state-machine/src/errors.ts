import { Checks } from '@tenure/options'
import type { RecordType } from './record.js'

/** Stable error codes. Messages may change. The README lists the codes. */
export type StateMachineErrorCode =
  | 'STATE_MALFORMED_RECORD'
  | 'STATE_UNKNOWN_RECORD'
  | 'STATE_INVARIANT_VIOLATION'
  | 'STATE_MALFORMED_CHUNK'
  | 'STATE_BROKEN'
  | 'STATE_CHANGED'
  | 'STATE_FULL'
  | 'STATE_BAD_ARGUMENT'

/** Every error that this package throws on purpose. */
export class StateMachineError extends Error {
  readonly code: StateMachineErrorCode

  constructor(code: StateMachineErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StateMachineError'
    this.code = code
  }
}

/**
 * The record must not be applied to this state. Either a coordinator broke the rules when it wrote
 * the log, or this is not the next record. The state is unchanged.
 */
export class InvariantViolation extends StateMachineError {
  readonly recordType: RecordType
  readonly lsn: number
  /** The precondition, in the words of the specification. */
  readonly rule: string
  /** The value that breaks the rule, or a phrase if there is none. */
  readonly got: unknown
  /** The value to which `got` was compared, or a phrase. */
  readonly expected: unknown

  /** `relation` precedes `expected` in the message: "at least", "task". */
  constructor(
    recordType: RecordType,
    lsn: number,
    rule: string,
    got: unknown,
    expected: unknown,
    relation = '',
  ) {
    const wanted = relation === '' ? `${expected}` : `${relation} ${expected}`
    super(
      'STATE_INVARIANT_VIOLATION',
      `${recordType} at LSN ${lsn}: ${rule}: got ${got}, expected ${wanted}`,
    )
    this.name = 'InvariantViolation'
    this.recordType = recordType
    this.lsn = lsn
    this.rule = rule
    this.got = got
    this.expected = expected
  }
}

export function malformedRecord(message: string, options?: ErrorOptions): StateMachineError {
  return new StateMachineError('STATE_MALFORMED_RECORD', message, options)
}

export function malformedState(why: string, options?: ErrorOptions): StateMachineError {
  const message = `the encoded state cannot be read: ${why}`
  return new StateMachineError('STATE_MALFORMED_CHUNK', message, options)
}

/** Validates arguments of callers. */
export const check = new Checks((message) => new StateMachineError('STATE_BAD_ARGUMENT', message))
