import {
  argument,
  ConfigError,
  choice,
  duration,
  type Kind,
  text,
  type ValuesOf,
  whole,
} from '@tenure/app-kit'
import type { WhatIfKnobs } from '@tenure/history'
import { whatIfRanges } from '@tenure/history/internal'
import { backoffOf, defaultBackoffMaxMs, retryRanges } from '@tenure/options'
import { flag } from '../../../command-line.js'
import { outputSettings } from '../../../terminal/json.js'

const { leaseDurationMs, executionWindowMs, maxRetries, poisonThreshold } = whatIfRanges

export const whatIfSettings = {
  Arguments: {
    directory: argument(text('dir'), {
      help: 'Data directory of the coordinator (its --data-dir), or a copy.',
    }),
  },
  'Options to try (others stay as recorded)': {
    leaseDuration: flag(duration(...leaseDurationMs), {
      help: 'Time that a worker owns a task without a heartbeat.',
    }),
    executionWindow: flag(duration(...executionWindowMs), {
      help: 'Maximum time for one attempt, for every task.',
    }),
    maxRetries: flag(whole(...maxRetries), {
      help: 'Maximum number of retries after failures, for every task.',
    }),
    backoff: flag(choice('fixed', 'exponential'), {
      help: 'Whether the retry delay stays fixed or doubles each time, for every task.',
    }),
    backoffDelay: flag(duration(...retryRanges.delayMs), {
      help: 'Delay before the first retry; required with --backoff.',
    }),
    backoffMax: flag(duration(...retryRanges.delayMs), {
      help: 'Maximum retry delay with --backoff exponential; 1h if not set.',
    }),
    poisonThreshold: flag(whole(...poisonThreshold), {
      help: 'Stop a task (DEAD) after this many consecutive lease expiries; 0 disables.',
    }),
    heartbeatShare: flag(share(0.5), {
      fallback: 1 / 3,
      help: 'Heartbeat interval divided by the lease duration, assumed for the recorded and for the simulated leases: the log does not contain the interval.',
    }),
  },
  Output: {
    examples: flag(whole(0, 1000), {
      fallback: 3,
      help: 'Maximum number of example tasks for each cause.',
    }),
    ...outputSettings.Output,
  },
} as const

export function toKnobs(values: ValuesOf<typeof whatIfSettings>): WhatIfKnobs {
  const { leaseDuration, executionWindow, maxRetries, poisonThreshold, heartbeatShare } = values
  const backoff = retryBackoffOf(values)
  return {
    leaseDurationMs: leaseDuration,
    executionWindowMs: executionWindow,
    maxRetries,
    backoff,
    poisonThreshold,
    heartbeatShare,
  }
}

function retryBackoffOf(values: ValuesOf<typeof whatIfSettings>): WhatIfKnobs['backoff'] {
  const { backoff: kind, backoffDelay: delayMs, backoffMax: maxMs } = values
  if (kind === undefined) {
    if (delayMs === undefined && maxMs === undefined) return undefined
    const which = delayMs === undefined ? '--backoff-max' : '--backoff-delay'
    throw new ConfigError(`${which} requires --backoff fixed or exponential`)
  }
  if (delayMs === undefined) throw new ConfigError('--backoff requires --backoff-delay')
  if (kind === 'exponential') return backoffOf(delayMs, maxMs ?? defaultBackoffMaxMs)
  if (maxMs !== undefined) throw new ConfigError('--backoff-max requires --backoff exponential')
  return backoffOf(delayMs, undefined)
}

/** A fraction, written `1/3` or `0.25`. */
function share(most: number): Kind<number> {
  return {
    placeholder: '<share>',
    accepted: `a share (1/3, 0.25), more than 0 and at most ${most}`,
    json: ['string', 'number'],
    parse: (given) => {
      const value = parseShare(given)
      return value > 0 && value <= most ? value : undefined
    },
    format: showShare,
  }
}

/** Shows 1/n as a fraction, any other share as a decimal. */
export function showShare(value: number): string {
  const parts = Math.round(1 / value)
  return 1 / parts === value ? `1/${parts}` : String(value)
}

function parseShare(text: string): number {
  const [, amount, parts] = /^(\d+(?:\.\d+)?)(?:\/(\d+))?$/.exec(text) ?? []
  return amount === undefined ? Number.NaN : Number(amount) / Number(parts ?? 1)
}
