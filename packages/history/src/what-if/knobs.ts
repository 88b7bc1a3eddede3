import {
  type Backoff,
  Checks,
  checkBackoff,
  describe,
  longestMs,
  type Range,
  retryRanges,
} from '@tenure/options'
import { HistoryError } from '../errors.js'

/** What is to be tried. A knob that is not given is as the record has it. */
export interface WhatIfKnobs {
  readonly leaseDurationMs?: number | undefined
  /** For every task: the log does not say which were submitted with their own. */
  readonly executionWindowMs?: number | undefined
  /** For every task, as well. */
  readonly maxRetries?: number | undefined
  /** For every task, as well. */
  readonly backoff?: Backoff | undefined
  /** 0 is never. */
  readonly poisonThreshold?: number | undefined
  /** What part of a lease lies between two heartbeats, in the record as under the knobs. */
  readonly heartbeatShare?: number | undefined
}

/** 10 s of 30 s: the coordinator's defaults. */
export const defaultHeartbeatShare = 1 / 3

/** How often a worker with such a lease lets itself be heard. */
export function heartbeatIntervalMs(leaseDurationMs: number, share: number): number {
  return Math.round(leaseDurationMs * share)
}

/** As the coordinator takes them. */
export const whatIfRanges = {
  leaseDurationMs: [10, 86_400_000],
  executionWindowMs: [10, longestMs],
  maxRetries: retryRanges.maxRetries,
  poisonThreshold: [0, 1_000_000],
} as const satisfies { readonly [K in keyof WhatIfKnobs]: Range }

const rangeNames = Object.keys(whatIfRanges) as (keyof typeof whatIfRanges)[]
const knobNames: readonly (keyof WhatIfKnobs)[] = [...rangeNames, 'backoff', 'heartbeatShare']

const check = new Checks((message) => new HistoryError('HISTORY_BAD_KNOB', message))

/** Refuses what the coordinator would not take. */
export function checkKnobs(knobs: WhatIfKnobs): void {
  check.names('knobs', knobs, knobNames)
  for (const name of rangeNames) {
    const [min, max] = whatIfRanges[name]
    if (knobs[name] !== undefined) check.whole(`knobs.${name}`, knobs[name], min, max)
  }
  const { backoff, heartbeatShare } = knobs
  if (backoff !== undefined) checkBackoff(check, 'knobs.backoff', backoff)
  if (heartbeatShare !== undefined) checkShare(heartbeatShare)
}

function checkShare(share: unknown): void {
  if (typeof share === 'number' && share > 0 && share <= 0.5) return
  throw check.refusal('knobs.heartbeatShare', describe(share), 'more than 0 and at most 0.5')
}
