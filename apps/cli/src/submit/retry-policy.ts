import { ConfigError, choice, duration, flagOf, type ValuesOf, whole } from '@tenure/app-kit'
import type { TaskOptions } from '@tenure/client'
import { flag } from '../flag.js'

type RetryPolicy = NonNullable<TaskOptions['retryPolicy']>

const longestMs = 2 ** 45
const mostRetries = 2 ** 31 - 1
/** A policy is given as a whole. What is not said of it is what a coordinator has that was told nothing. */
const usual = { maxRetries: 3, delayMs: 5000, maxMs: 3_600_000 }

/** In the words of the coordinator, which has them for all tasks. */
export const retrySettings = {
  'Retries; as the coordinator has them where none of these is given': {
    maxRetries: flag(whole(0, mostRetries), {
      help: 'How often the task is tried again when it fails. Where only others of these are given, 3.',
    }),
    backoff: flag(choice('fixed', 'exponential'), {
      help: 'Whether the delay before a retry stays the same or doubles each time. Otherwise fixed.',
    }),
    backoffDelay: flag(duration(0, longestMs), {
      help: 'The delay before the first retry. Otherwise 5s.',
    }),
    backoffMax: flag(duration(0, longestMs), {
      help: 'The longest delay, with --backoff exponential. Otherwise 1h.',
    }),
  },
} as const

export function retryPolicyOf(values: ValuesOf<typeof retrySettings>): RetryPolicy | undefined {
  const { maxRetries = usual.maxRetries, backoff, backoffDelay, backoffMax } = values
  const given = [values.maxRetries, backoff, backoffDelay, backoffMax]
  if (given.every((value) => value === undefined)) return undefined
  const delayMs = backoffDelay ?? usual.delayMs
  if (backoff === 'exponential') {
    const maxMs = backoffMax ?? usual.maxMs
    return { maxRetries, backoff: { kind: backoff, initialMs: delayMs, maxMs } }
  }
  if (backoffMax === undefined) return { maxRetries, backoff: { kind: 'fixed', delayMs } }
  throw new ConfigError(`${flagOf('backoffMax')} is for ${flagOf('backoff')} exponential`)
}
