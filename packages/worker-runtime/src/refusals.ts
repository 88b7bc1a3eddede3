import type { Reason } from '@tenure/protocol'

/**
 * What a REJECTED means to the worker that gets it. `docs/semantics.md` §6 has the same table, with
 * how each reason is earned.
 *
 * - `passes`: the coordinator decided nothing; the same request may be sent again.
 * - `lost`: the lease has ended as leases do, and a heartbeat learns it.
 * - `innocent`: a correct worker can earn it; the worker tells it as an error and goes on.
 * - `misuse`: no correct worker earns it: the fatal protocol error of 004 §3.3.
 */
export type RefusalMeaning = 'passes' | 'lost' | 'innocent' | 'misuse'

const meanings: { readonly [R in Reason]: RefusalMeaning } = {
  OVERLOADED: 'passes',
  NO_SPACE: 'passes',
  STOPPING: 'passes',
  TOO_MANY: 'passes',
  EXPIRED: 'lost',
  SUPERSEDED: 'lost',
  REPORTED: 'lost',
  TASK_TERMINAL: 'lost',
  UNKNOWN_TASK: 'innocent',
  TOO_LARGE: 'innocent',
  INTERNAL: 'innocent',
  MALFORMED: 'misuse',
  FORBIDDEN: 'misuse',
  UNKNOWN_LEASE: 'misuse',
  WRONG_WORKER: 'misuse',
  DUPLICATE_REPORT: 'misuse',
  // No answer to a request of a worker: the two sides do not speak the same protocol.
  CONFLICT: 'misuse',
  UNAUTHORIZED: 'misuse',
  UNSUPPORTED_VERSION: 'misuse',
  PROTOCOL: 'misuse',
}

export function meaningOf(reason: Reason): RefusalMeaning {
  return meanings[reason]
}
