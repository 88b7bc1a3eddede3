import type { RequestKind } from './request.js'

/**
 * Requests, each a list of fixed length with nil for what is absent:
 *
 *     [ 1 submit,    id, payload, queue, not_before, delay, request_id, execution_window,
 *                        retries: nil or [max_retries, delay, delay_max]]
 *     [ 2 lease,     id, [queue, ...], wait]
 *     [ 3 heartbeat, id, task_id, lease_id]
 *     [ 4 complete,  id, task_id, lease_id, report_id, result]
 *     [ 5 fail,      id, task_id, lease_id, reason, report_id]
 *     [ 6 kill,      id, task_id, reason]
 *     [ 7 get,       id, task_id]
 *     [ 8 list,      id, state, queue, from_task_id, limit]
 *     [ 9 workers,   id]
 *     [10 stats,     id]
 *     [11 ping,      id]
 *     [12 withdraw,  id, of]
 *     [13 why,       id, task_id]
 *     [14 history,   id, task_id, from_lsn, lease_id, retries_left, ended_lsn]
 *     [15 checkpoint, id]
 */
export const requestTypes = {
  submit: { number: 1, length: 9 },
  lease: { number: 2, length: 4 },
  heartbeat: { number: 3, length: 4 },
  complete: { number: 4, length: 6 },
  fail: { number: 5, length: 6 },
  kill: { number: 6, length: 4 },
  get: { number: 7, length: 3 },
  list: { number: 8, length: 6 },
  workers: { number: 9, length: 2 },
  stats: { number: 10, length: 2 },
  ping: { number: 11, length: 2 },
  withdraw: { number: 12, length: 3 },
  why: { number: 13, length: 3 },
  history: { number: 14, length: 7 },
  checkpoint: { number: 15, length: 2 },
} as const satisfies { [K in RequestKind]: { number: number; length: number } }

/** The kinds by their numbers. */
export const requestKinds: readonly (RequestKind | undefined)[] = kindsByNumber()

function kindsByNumber(): (RequestKind | undefined)[] {
  const kinds: (RequestKind | undefined)[] = []
  for (const [kind, { number }] of Object.entries(requestTypes)) kinds[number] = kind as RequestKind
  return kinds
}
