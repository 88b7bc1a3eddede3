import type { Answer } from '@tenure/protocol'
import type { LogRecord, State } from '@tenure/state-machine'
import type { Knobs } from './knobs.js'

/** Everything that a decision may read. */
export interface DecisionContext {
  readonly state: State
  readonly knobs: Knobs
  readonly now: number
  readonly nextLsn: number
  /** Submissions that are not yet durable; they count towards the limits. */
  readonly submissions: { readonly count: number; readonly bytes: number }
}

/** The connection that sent the request. */
export interface Caller {
  /** The name from its hello, which owns its leases. */
  readonly name: string
  readonly arrivedAt: number
}

/**
 * The outcome of a request: an immediate answer, or a record and the answer to send after it is applied.
 * `expire first` means that the lease is past its expiry, which must be recorded before any answer.
 */
export type Decision =
  | { readonly kind: 'answer'; readonly answer: Answer }
  | {
      readonly kind: 'record'
      readonly record: LogRecord
      readonly answer: (state: State) => Answer
    }
  | { readonly kind: 'expire first' }

export function answer(answer: Answer): Decision {
  return { kind: 'answer', answer }
}
