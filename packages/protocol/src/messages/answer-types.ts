import type { AnswerKind } from './answer.js'

/**
 * Answers, each a list of fixed length with nil for what is absent. Their types begin at 65, so that
 * no answer can be taken for a request:
 *
 *     [65 submitted, id, task_id, known]
 *     [66 leased,    id, task_id, lease_id, attempt, queue, payload, terms]
 *     [67 empty,     id]
 *     [68 extended,  id, terms]
 *     [69 committed, id, state, eligible_at]
 *     [70 cancelled, id, reason, superseded_by]
 *     [71 rejected,  id, reason, message, retry_after]
 *     [72 killed,    id, known]
 *     [73 task,      id, {task}]
 *     [74 tasks,     id, [{task}, ...], next_task_id]
 *     [75 workers,   id, [{worker}, ...], left_out]
 *     [76 stats,     id, {stats}]
 *     [77 pong,      id]
 *     [78 withdrawn, id]
 *     [79 why,       id, {why}]
 *     [80 history,   id, first_lsn, [[lsn, record], ...], [[epoch, first_lsn, at], ...], next]
 *     [81 checkpointed, id, {checkpoint}]
 *
 * `terms` are [lease_expiry, window_end, held, lease, window], and `next` is nil or
 * [from_lsn, lease_id, retries_left, ended_lsn].
 */
export const answerTypes = {
  submitted: { number: 65, length: 4 },
  leased: { number: 66, length: 8 },
  empty: { number: 67, length: 2 },
  extended: { number: 68, length: 3 },
  committed: { number: 69, length: 4 },
  cancelled: { number: 70, length: 4 },
  rejected: { number: 71, length: 5 },
  killed: { number: 72, length: 3 },
  task: { number: 73, length: 3 },
  tasks: { number: 74, length: 4 },
  workers: { number: 75, length: 4 },
  stats: { number: 76, length: 3 },
  pong: { number: 77, length: 2 },
  withdrawn: { number: 78, length: 2 },
  why: { number: 79, length: 3 },
  history: { number: 80, length: 6 },
  checkpointed: { number: 81, length: 3 },
} as const satisfies { [K in AnswerKind]: { number: number; length: number } }

/** The kinds by their numbers. */
export const answerKinds: readonly (AnswerKind | undefined)[] = kindsByNumber()

function kindsByNumber(): (AnswerKind | undefined)[] {
  const kinds: (AnswerKind | undefined)[] = []
  for (const [kind, { number }] of Object.entries(answerTypes)) kinds[number] = kind as AnswerKind
  return kinds
}
