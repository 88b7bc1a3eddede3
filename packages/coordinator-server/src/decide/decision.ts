import type { Answer } from '@tenure/protocol'
import type { LogRecord, State } from '@tenure/state-machine'
import type { Knobs } from './knobs.js'

/** What a decision may look at: applied state, the time, and the LSN that a record would get. */
export interface Circumstances {
  readonly state: State
  readonly knobs: Knobs
  readonly now: number
  readonly nextLsn: number
  /** Submissions on their way to the disk: they count, too, where there is a limit. */
  readonly submissions: { readonly count: number; readonly bytes: number }
}

/** Who asks, and when. */
export interface Asker {
  /** The name of the connection; the owner of its leases. */
  readonly name: string
  readonly arrivedAt: number
}

/**
 * What a request comes to: an answer that needs no record; a record, with the answer to give when it
 * has been applied; or that time has to decide first, because the lease it is about is past its expiry.
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
