import {
  argument,
  ConfigError,
  choice,
  duration,
  flagOf,
  text,
  type ValuesOf,
  whole,
  yesOrNo,
} from '@tenure/app-kit'
import type { TaskOptions } from '@tenure/client'
import {
  backoffOf,
  defaultBackoffMaxMs,
  defaultRetryPolicy,
  longestMs,
  type RetryPolicy,
  retryRanges,
} from '@tenure/options'
import { flag } from '../../command-line.js'

/** In the words of the coordinator, which has them for all tasks. */
const retrySettings = {
  'Retries; as the coordinator has them where none of these is given': {
    maxRetries: flag(whole(...retryRanges.maxRetries), {
      help: 'How often the task is tried again when it fails. Where only others of these are given, 3.',
    }),
    backoff: flag(choice('fixed', 'exponential'), {
      help: 'Whether the delay before a retry stays the same or doubles each time. Otherwise fixed.',
    }),
    backoffDelay: flag(duration(...retryRanges.delayMs), {
      help: 'The delay before the first retry. Otherwise 5s.',
    }),
    backoffMax: flag(duration(...retryRanges.delayMs), {
      help: 'The longest delay, with --backoff exponential. Otherwise 1h.',
    }),
  },
} as const

/** What is submitted, and what is done beside it. */
export const submitSettings = {
  What: {
    payload: argument(text('payload'), {
      required: false,
      help: 'What the handler gets, as it is.',
    }),
    payloadFile: flag(text('file'), {
      help: 'In its place: a file with these bytes; - is the standard input.',
    }),
    queue: flag(text('queue'), { fallback: 'default', help: 'Whose workers run it.' }),
    delay: flag(duration(1, longestMs), { help: 'Not before so much time has passed.' }),
    requestId: flag(text('id'), {
      help: 'The same id with the same task is the same task, however often it is submitted.',
    }),
    executionWindow: flag(duration(1, longestMs), {
      help: 'How long one attempt may take in all.',
    }),
    wait: flag(yesOrNo(), {
      fallback: false,
      help: 'Waits until the task has ended. Exit code 1 if it did not complete.',
    }),
    waitTimeout: flag(duration(1, longestMs), {
      help: 'Waits, but no longer than that. Exit code 3 if the time was over.',
    }),
  },
  ...retrySettings,
  'Many tasks': {
    lines: flag(text('file'), {
      help: 'In place of a payload: a file in which each line is one; - is the standard input. Empty lines are passed over.',
    }),
    requestIdPrefix: flag(text('prefix'), {
      help: 'Line 7 gets the request id <prefix>-7, so the same lines submitted again are the same tasks. Made up where it is missing, and told when it is needed.',
    }),
    fromLine: flag(whole(1, Number.MAX_SAFE_INTEGER), {
      fallback: 1,
      help: 'Where to begin, to go on with what was broken off.',
    }),
  },
} as const

interface Given extends ValuesOf<typeof retrySettings> {
  readonly queue: string
  readonly delay: number | undefined
  readonly executionWindow: number | undefined
}

/** What is the same for one task and for many. */
export function taskOptionsOf(given: Given): TaskOptions {
  const { queue, delay, executionWindow } = given
  const retryPolicy = retryPolicyOf(given)
  return {
    queue,
    delayMs: delay,
    executionWindowMs: executionWindow,
    retryPolicy,
  }
}

/** A policy is submitted as a whole: the flags that are not given take the coordinator's defaults. */
function retryPolicyOf(values: ValuesOf<typeof retrySettings>): RetryPolicy | undefined {
  const { maxRetries, backoff, backoffDelay, backoffMax } = values
  const given = [maxRetries, backoff, backoffDelay, backoffMax]
  if (given.every((value) => value === undefined)) return undefined
  if (backoffMax !== undefined && backoff !== 'exponential') {
    throw new ConfigError(`${flagOf('backoffMax')} is for ${flagOf('backoff')} exponential`)
  }
  const delayMs = backoffDelay ?? defaultRetryPolicy.backoff.delayMs
  const maxMs = backoff === 'exponential' ? (backoffMax ?? defaultBackoffMaxMs) : undefined
  return {
    maxRetries: maxRetries ?? defaultRetryPolicy.maxRetries,
    backoff: backoffOf(delayMs, maxMs),
  }
}
