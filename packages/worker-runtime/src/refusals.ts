import type { Reason } from '@tenure/protocol'

/**
 * The meaning of a rejection for the worker. `docs/semantics.md` §6 has the same table, with the causes of each
 * reason.
 *
 * - `transient`: nothing was decided; the same request may be sent again.
 * - `lost`: the lease has ended, as a heartbeat may find out.
 * - `tolerated`: a correct worker may receive it; the worker logs an error and continues.
 * - `misuse`: only a bug or misuse causes it: the fatal protocol error of 004 §3.3.
 */
export type RejectionMeaning = 'transient' | 'lost' | 'tolerated' | 'misuse'

const meanings: { readonly [R in Reason]: RejectionMeaning } = {
  OVERLOADED: 'transient',
  NO_SPACE: 'transient',
  STOPPING: 'transient',
  NOT_ACTIVE: 'transient',
  TOO_MANY: 'transient',
  EXPIRED: 'lost',
  SUPERSEDED: 'lost',
  REPORTED: 'lost',
  TASK_TERMINAL: 'lost',
  UNKNOWN_TASK: 'tolerated',
  TOO_LARGE: 'tolerated',
  INTERNAL: 'tolerated',
  MALFORMED: 'misuse',
  FORBIDDEN: 'misuse',
  UNKNOWN_LEASE: 'misuse',
  WRONG_WORKER: 'misuse',
  DUPLICATE_REPORT: 'misuse',
  // A worker's requests never get these answers, unless the two sides speak different protocols.
  CONFLICT: 'misuse',
  UNAUTHORIZED: 'misuse',
  UNSUPPORTED_VERSION: 'misuse',
  PROTOCOL: 'misuse',
}

export function meaningOf(reason: Reason): RejectionMeaning {
  return meanings[reason]
}
