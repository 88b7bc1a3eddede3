import { messageLimits, type Submit } from '@tenure/protocol'
import { badArgument, TenureError } from './errors.js'
import type { RetryPolicy } from './facts.js'
import type { CallOptions } from './limit.js'
import { checkNames, text, whole } from './values.js'

/** What is asked of the coordinator beside running the payload. What is absent follows its defaults. */
export interface TaskOptions {
  /** Default `default`. */
  readonly queue?: string
  /** Not before then: a `Date`, or milliseconds since the epoch. */
  readonly notBefore?: Date | number
  /** Not before so long after the coordinator's decision. In place of `notBefore`. */
  readonly delayMs?: number
  /**
   * The same id with the same payload and options is the same task, however often it is submitted.
   * Made up where it is missing. `null` does without: then a lost connection leaves the outcome
   * unknown.
   */
  readonly requestId?: string | null
  /** How long one attempt may take in all. */
  readonly executionWindowMs?: number
  readonly retryPolicy?: RetryPolicy
}

export interface SubmitOptions extends TaskOptions, CallOptions {
  /**
   * Whether to come back, within the time limit, when the coordinator refuses for a reason that
   * passes: OVERLOADED, NO_SPACE, STOPPING, TOO_MANY. Default false.
   */
  readonly retryLater?: boolean
}

/** One of many tasks to be submitted. */
export interface Submission extends TaskOptions {
  readonly payload: Uint8Array
}

export type NewSubmit = Omit<Submit, 'id'>

const names: readonly (keyof Submission)[] = [
  ...(['payload', 'queue', 'notBefore', 'delayMs', 'requestId'] as const),
  ...(['executionWindowMs', 'retryPolicy'] as const),
]

/** The request for a submission, checked: JavaScript has no types to do it. */
export function toRequest(submission: Submission, makeId: () => string): NewSubmit {
  checkNames('submission', submission, names)
  const { payload, queue, notBefore, delayMs, executionWindowMs, retryPolicy } = submission
  const { queueBytesMax, requestIdBytesMax, timeMsMax, durationMsMax } = messageLimits
  if (!(payload instanceof Uint8Array)) {
    throw badArgument('payload', `a ${typeof payload}`, 'bytes (see encodeJson)')
  }
  if (notBefore !== undefined && delayMs !== undefined) {
    throw badArgument('delayMs', 'there beside notBefore', 'in its place')
  }
  const { requestId = makeId() } = submission
  return {
    ...{ kind: 'submit', payload },
    ...(queue !== undefined && { queue: text('queue', queue, 1, queueBytesMax) }),
    ...(notBefore !== undefined && {
      notBefore: whole('notBefore', Number(notBefore), 0, timeMsMax),
    }),
    ...(delayMs !== undefined && { delayMs: whole('delayMs', delayMs, 0, durationMsMax) }),
    ...(requestId !== null && { requestId: text('requestId', requestId, 1, requestIdBytesMax) }),
    ...(executionWindowMs !== undefined && {
      executionWindowMs: whole('executionWindowMs', executionWindowMs, 1, durationMsMax),
    }),
    ...(retryPolicy !== undefined && { retryPolicy: checkPolicy(retryPolicy) }),
  }
}

function checkPolicy(policy: RetryPolicy): RetryPolicy {
  checkNames('retryPolicy', policy, ['maxRetries', 'backoff'])
  const maxRetries = whole('retryPolicy.maxRetries', policy.maxRetries, 0, 2 ** 31 - 1)
  const { backoff } = policy
  const path = 'retryPolicy.backoff'
  const delay = (name: string, value: unknown) =>
    whole(`${path}.${name}`, value, 0, messageLimits.durationMsMax)
  switch (backoff?.kind) {
    case 'fixed':
      checkNames(path, backoff, ['kind', 'delayMs'])
      return { maxRetries, backoff: { kind: 'fixed', delayMs: delay('delayMs', backoff.delayMs) } }
    case 'exponential': {
      checkNames(path, backoff, ['kind', 'initialMs', 'maxMs'])
      const initialMs = delay('initialMs', backoff.initialMs)
      return {
        maxRetries,
        backoff: { kind: 'exponential', initialMs, maxMs: delay('maxMs', backoff.maxMs) },
      }
    }
    default:
      throw badArgument(
        `${path}.kind`,
        String((backoff as unknown as { kind?: unknown })?.kind),
        '"fixed" or "exponential"',
      )
  }
}

/** A value as the bytes of a payload or a result. */
export function encodeJson(value: unknown): Uint8Array {
  const json: string | undefined = JSON.stringify(value)
  if (json === undefined) throw badArgument('value', `a ${typeof value}`, 'one that JSON can say')
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
