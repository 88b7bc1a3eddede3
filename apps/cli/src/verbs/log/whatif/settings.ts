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
  Which: {
    directory: argument(text('dir'), {
      help: "The coordinator's --data-dir, or a copy of it.",
    }),
  },
  'Knobs to try; what is not given is as recorded': {
    leaseDuration: flag(duration(...leaseDurationMs), {
      help: 'How long a worker owns a task without a heartbeat.',
    }),
    executionWindow: flag(duration(...executionWindowMs), {
      help: 'How long an attempt may take at most, for every task.',
    }),
    maxRetries: flag(whole(...maxRetries), {
      help: 'How often a task that failed is tried again, for every task.',
    }),
    backoff: flag(choice('fixed', 'exponential'), {
      help: 'Whether the delay before a retry stays the same or doubles each time, for every task.',
    }),
    backoffDelay: flag(duration(...retryRanges.delayMs), {
      help: 'The delay before the first retry. With --backoff.',
    }),
    backoffMax: flag(duration(...retryRanges.delayMs), {
      help: 'The longest delay. With --backoff exponential; without it 1h.',
    }),
    poisonThreshold: flag(whole(...poisonThreshold), {
      help: 'After so many leases in a row that expired a task is stopped; 0 is never.',
    }),
    heartbeatShare: flag(share(0.5), {
      fallback: 1 / 3,
      help: 'What part of a lease lies between two heartbeats, in the record and under the knobs.',
    }),
  },
  Output: {
    examples: flag(whole(0, 1000), {
      fallback: 3,
      help: 'How many tasks are shown for each cause.',
    }),
    ...outputSettings.Output,
  },
} as const

/** Those that were given. */
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
    throw new ConfigError(`${which} needs --backoff: fixed or exponential`)
  }
  if (delayMs === undefined) throw new ConfigError('--backoff needs --backoff-delay')
  if (kind === 'exponential') return backoffOf(delayMs, maxMs ?? defaultBackoffMaxMs)
  if (maxMs !== undefined) throw new ConfigError('--backoff-max is for --backoff exponential')
  return backoffOf(delayMs, undefined)
}

/** A part of something, written `1/3` or `0.25`. */
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

/** As people say it, where it is a simple one. */
export function showShare(value: number): string {
  const parts = Math.round(1 / value)
  return 1 / parts === value ? `1/${parts}` : String(value)
}

function parseShare(text: string): number {
  const [, amount, parts] = /^(\d+(?:\.\d+)?)(?:\/(\d+))?$/.exec(text) ?? []
  return amount === undefined ? Number.NaN : Number(amount) / Number(parts ?? 1)
}
