import type { RetryPolicy } from '@tenure/options'
import { defaultQueue } from '../record.js'
import { states } from '../store/task-rows.js'
import { digest, payloadOf } from './contents.js'
import { retryPolicyOf } from './retry-policy.js'
import { findTask, type State } from './state.js'

/** A submission with a `request_id`, as the client sent it. An absent option was not given. */
export interface Submission {
  readonly payload: Uint8Array
  readonly queue?: string | undefined
  readonly notBefore?: number | undefined
  /** Instead of `notBefore`: a delay from the creation of the task. */
  readonly delayMs?: number | undefined
  readonly executionWindowMs?: number | undefined
  readonly retryPolicy?: RetryPolicy | undefined
}

/**
 * `semantics` §9: whether this submission created the task. Given options must equal the recorded
 * ones. An absent window or retry policy stands for the coordinator's default, which may have
 * changed since, and is not compared.
 */
export function isSameSubmission(state: State, taskId: number, submission: Submission): boolean {
  const { tasks, queues } = state.authoritative
  const row = findTask(state, taskId)
  if (row === 0) return false
  const { queue = defaultQueue, executionWindowMs, retryPolicy } = submission
  return (
    queues.text(tasks.queue.get(row)) === queue &&
    isSameStart(state, row, submission) &&
    (executionWindowMs === undefined || executionWindowMs === tasks.executionWindowMs.get(row)) &&
    (retryPolicy === undefined || isSamePolicy(retryPolicy, retryPolicyOf(tasks, row))) &&
    isSamePayload(state, row, submission.payload)
  )
}

/** The `not_before` of a task that is created at this time. A delay of 0 gives none. */
export function notBeforeOf(
  { notBefore, delayMs = 0 }: Pick<Submission, 'notBefore' | 'delayMs'>,
  createdAt: number,
): number | undefined {
  return delayMs === 0 ? notBefore : createdAt + delayMs
}

function isSameStart({ authoritative }: State, row: number, submission: Submission): boolean {
  const { tasks } = authoritative
  const notBefore = notBeforeOf(submission, tasks.createdAt.get(row))
  if (tasks.hasNotBefore.get(row) === 0) return notBefore === undefined
  return notBefore === tasks.notBefore.get(row)
}

function isSamePolicy(one: RetryPolicy, other: RetryPolicy): boolean {
  return one.maxRetries === other.maxRetries && isSameBackoff(one.backoff, other.backoff)
}

function isSameBackoff(one: RetryPolicy['backoff'], other: RetryPolicy['backoff']): boolean {
  if (one.kind === 'fixed') return other.kind === 'fixed' && one.delayMs === other.delayMs
  return (
    other.kind === 'exponential' && one.initialMs === other.initialMs && one.maxMs === other.maxMs
  )
}

function isSamePayload(state: State, row: number, payload: Uint8Array): boolean {
  const kept = payloadOf(state, row)
  if (state.authoritative.tasks.state.get(row) !== states.COMPLETED) return kept.equals(payload)
  return kept.toString('latin1') === digest(payload)
}
