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

const retrySettings = {
  'Retries (coordinator defaults if no flag is set)': {
    maxRetries: flag(whole(...retryRanges.maxRetries), {
      help: 'Maximum number of retries after failures; 3 if another retry flag is set.',
    }),
    backoff: flag(choice('fixed', 'exponential'), {
      help: 'Whether the retry delay stays fixed or doubles each time; fixed if another retry flag is set.',
    }),
    backoffDelay: flag(duration(...retryRanges.delayMs), {
      help: 'Delay before the first retry; 5s if another retry flag is set.',
    }),
    backoffMax: flag(duration(...retryRanges.delayMs), {
      help: 'Maximum retry delay with --backoff exponential; 1h if not set.',
    }),
  },
} as const

export const submitSettings = {
  Task: {
    payload: argument(text('payload'), {
      required: false,
      help: 'Payload for the handler, passed unchanged.',
    }),
    payloadFile: flag(text('file'), {
      help: 'Read the payload from a file; - reads standard input.',
    }),
    queue: flag(text('queue'), { fallback: 'default', help: 'Queue of the task.' }),
    delay: flag(duration(1, longestMs), { help: 'Time to wait before the task may run.' }),
    requestId: flag(text('id'), {
      help: 'Idempotency key: submitting the task again with this key returns the existing task; a different task with this key is rejected with CONFLICT.',
    }),
    executionWindow: flag(duration(1, longestMs), {
      help: 'Maximum time for one attempt.',
    }),
    wait: flag(yesOrNo(), {
      fallback: false,
      help: 'Wait until the task ends; exit code 1 if it does not complete.',
    }),
    waitTimeout: flag(duration(1, longestMs), {
      help: 'Like --wait, but at most this long; exit code 3 on timeout.',
    }),
  },
  ...retrySettings,
  'Many tasks': {
    lines: flag(text('file'), {
      help: 'Submit each non-empty line of a file as the payload of a task; - reads standard input.',
    }),
    requestIdPrefix: flag(text('prefix'), {
      help: 'Prefix of the request ids: line 7 gets <prefix>-7, so repeating the command with this prefix submits nothing twice. Without it a prefix is generated, and printed if the run is interrupted.',
    }),
    fromLine: flag(whole(1, Number.MAX_SAFE_INTEGER), {
      fallback: 1,
      help: 'Line number to start at, to continue an interrupted run.',
    }),
  },
} as const

interface Given extends ValuesOf<typeof retrySettings> {
  readonly queue: string
  readonly delay: number | undefined
  readonly executionWindow: number | undefined
}

/** The options of a single task and of each line. */
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

/** A policy is submitted as a whole: flags that are not set take the coordinator's defaults. */
function retryPolicyOf(values: ValuesOf<typeof retrySettings>): RetryPolicy | undefined {
  const { maxRetries, backoff, backoffDelay, backoffMax } = values
  const given = [maxRetries, backoff, backoffDelay, backoffMax]
  if (given.every((value) => value === undefined)) return undefined
  if (backoffMax !== undefined && backoff !== 'exponential') {
    throw new ConfigError(`${flagOf('backoffMax')} requires ${flagOf('backoff')} exponential`)
  }
  const delayMs = backoffDelay ?? defaultRetryPolicy.backoff.delayMs
  const maxMs = backoff === 'exponential' ? (backoffMax ?? defaultBackoffMaxMs) : undefined
  return {
    maxRetries: maxRetries ?? defaultRetryPolicy.maxRetries,
    backoff: backoffOf(delayMs, maxMs),
  }
}
