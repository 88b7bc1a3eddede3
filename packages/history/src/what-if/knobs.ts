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

/** The knobs to try. Absent ones are as recorded. */
export interface WhatIfKnobs {
  readonly leaseDurationMs?: number | undefined
  /** For every task, because the log does not show which tasks had their own. */
  readonly executionWindowMs?: number | undefined
  /** For every task, too. */
  readonly maxRetries?: number | undefined
  /** For every task, too. */
  readonly backoff?: Backoff | undefined
  /** 0 disables it. */
  readonly poisonThreshold?: number | undefined
  /** The heartbeat interval as a share of the lease, both in the record and under the knobs. */
  readonly heartbeatShare?: number | undefined
}

/** 10 s of 30 s: the coordinator's defaults. */
export const defaultHeartbeatShare = 1 / 3

/** The heartbeat interval of a worker with such a lease. */
export function heartbeatIntervalMs(leaseDurationMs: number, share: number): number {
  return Math.round(leaseDurationMs * share)
}

/** The ranges of the coordinator. */
export const whatIfRanges = {
  leaseDurationMs: [10, 86_400_000],
  executionWindowMs: [10, longestMs],
  maxRetries: retryRanges.maxRetries,
  poisonThreshold: [0, 1_000_000],
} as const satisfies { readonly [K in keyof WhatIfKnobs]: Range }

const rangeNames = Object.keys(whatIfRanges) as (keyof typeof whatIfRanges)[]
const knobNames: readonly (keyof WhatIfKnobs)[] = [...rangeNames, 'backoff', 'heartbeatShare']

const check = new Checks((message) => new HistoryError('HISTORY_BAD_KNOB', message))

/** Rejects values that the coordinator would reject. */
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
