import { checkRetryPolicy, type RetryPolicy } from '@tenure/options'
import { messageLimits, type Submit } from '@tenure/protocol'
import type { Random } from '@tenure/seams'
import { check, TenureError } from '../errors.js'
import type { CallOptions } from '../link/limit.js'

/** What is asked of the coordinator beside running the payload. What is absent follows its defaults. */
export interface TaskOptions {
  /** Default `default`. */
  readonly queue?: string | undefined
  /** Not before then: a `Date`, or milliseconds since the epoch. */
  readonly notBefore?: Date | number | undefined
  /** Not before so long after the coordinator's decision. In place of `notBefore`. */
  readonly delayMs?: number | undefined
  /**
   * The same id with the same payload and options is the same task, however often it is submitted.
   * Made up where it is missing. `null` does without: then a lost connection leaves the outcome
   * unknown.
   */
  readonly requestId?: string | null | undefined
  /** How long one attempt may take in all. */
  readonly executionWindowMs?: number | undefined
  readonly retryPolicy?: RetryPolicy | undefined
}

export interface SubmitOptions extends TaskOptions, CallOptions {
  /**
   * Whether to come back, within the time limit, when the coordinator refuses for a reason that
   * passes: OVERLOADED, NO_SPACE, STOPPING, TOO_MANY. Default false.
   */
  readonly retryLater?: boolean | undefined
}

/** One of many tasks to be submitted. */
export interface Submission extends TaskOptions {
  readonly payload: Uint8Array
}

export type NewSubmit = Omit<Submit, 'id'>

const taskNames: readonly (keyof TaskOptions)[] = [
  'queue',
  'notBefore',
  'delayMs',
  'requestId',
  'executionWindowMs',
  'retryPolicy',
]
const submissionNames: readonly (keyof Submission)[] = ['payload', ...taskNames]
const submitNames: readonly (keyof SubmitOptions)[] = [
  ...taskNames,
  'signal',
  'timeoutMs',
  'retryLater',
]

/** JavaScript has no types to do it. */
export function checkSubmission(submission: Submission): void {
  check.names('submission', submission, submissionNames)
}

export function checkSubmitOptions(options: SubmitOptions): void {
  check.names('submission', options, submitNames)
}

/**
 * The request for a submission, its values checked. It gets its optional fields one by one: spreading
 * each of them takes longer than all else that is done for a submission.
 */
export function toRequest(payload: Uint8Array, task: TaskOptions, random: Random): NewSubmit {
  const { queue, notBefore, delayMs, executionWindowMs, retryPolicy } = task
  const { queueBytesMax, requestIdBytesMax, timeMsMax, durationMsMax } = messageLimits
  if (!(payload instanceof Uint8Array)) {
    throw check.refusal('payload', `a ${typeof payload}`, 'bytes (see encodeJson)')
  }
  if (notBefore !== undefined && delayMs !== undefined) {
    throw check.refusal('delayMs', 'there beside notBefore', 'in its place')
  }
  const request: Building<NewSubmit> = { kind: 'submit', payload }
  if (task.requestId === undefined) request.requestId = random.id()
  else if (task.requestId !== null) {
    request.requestId = check.text('requestId', task.requestId, 1, requestIdBytesMax)
  }
  if (queue !== undefined) request.queue = check.text('queue', queue, 1, queueBytesMax)
  if (notBefore !== undefined) {
    request.notBefore = check.whole('notBefore', Number(notBefore), 0, timeMsMax)
  }
  if (delayMs !== undefined) request.delayMs = check.whole('delayMs', delayMs, 0, durationMsMax)
  if (executionWindowMs !== undefined) {
    request.executionWindowMs = check.whole(
      'executionWindowMs',
      executionWindowMs,
      1,
      durationMsMax,
    )
  }
  if (retryPolicy !== undefined) {
    request.retryPolicy = checkRetryPolicy(check, 'retryPolicy', retryPolicy)
  }
  return request
}

type Building<T> = { -readonly [K in keyof T]: T[K] }

/** A value as the bytes of a payload or a result. */
export function encodeJson(value: unknown): Uint8Array {
  const json: string | undefined = JSON.stringify(value)
  if (json === undefined) throw check.refusal('value', `a ${typeof value}`, 'one that JSON can say')
  return Buffer.from(json)
}

/** The value in the bytes of a payload or a result. */
export function decodeJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (cause) {
    throw new TenureError('CLIENT_BAD_ARGUMENT', 'the bytes are no JSON', { cause })
  }
}
