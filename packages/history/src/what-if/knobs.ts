import type { Backoff } from '@tenure/state-machine'
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

const longestMs = 2 ** 45

/** As the coordinator takes them. */
export const whatIfRanges = {
  leaseDurationMs: [10, 86_400_000],
  executionWindowMs: [10, longestMs],
  maxRetries: [0, 2 ** 31 - 1],
  poisonThreshold: [0, 1_000_000],
  delayMs: [0, longestMs],
} as const

/** Refuses what the coordinator would not take. */
export function checkKnobs(knobs: WhatIfKnobs): void {
  for (const [name, value] of Object.entries(knobs)) {
    if (value === undefined) continue
    if (name === 'backoff') checkBackoff(value)
    else if (name === 'heartbeatShare') checkShare(value)
    else if (name !== 'delayMs' && Object.hasOwn(whatIfRanges, name)) checkWhole(name, value, name)
    else throw bad(name, value, `a knob: ${knobNames.join(', ')}`)
  }
}

const knobNames = [
  ...(['leaseDurationMs', 'executionWindowMs', 'maxRetries', 'backoff'] as const),
  ...(['poisonThreshold', 'heartbeatShare'] as const),
] satisfies (keyof WhatIfKnobs)[]

function checkBackoff(backoff: Partial<Backoff> | null): void {
  if (backoff?.kind === 'fixed') {
    checkWhole('backoff.delayMs', backoff.delayMs)
  } else if (backoff?.kind === 'exponential') {
    checkWhole('backoff.initialMs', backoff.initialMs)
    checkWhole('backoff.maxMs', backoff.maxMs)
  } else {
    throw bad('backoff.kind', backoff?.kind, 'fixed or exponential')
  }
}

function checkShare(value: unknown): void {
  if (typeof value === 'number' && value > 0 && value <= 0.5) return
  throw bad('heartbeatShare', value, 'more than 0 and at most 0.5')
}

function checkWhole(path: string, value: unknown, range = 'delayMs'): void {
  const [min, max] = whatIfRanges[range as keyof typeof whatIfRanges]
  if (Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max) return
  throw bad(path, value, `a whole number from ${min} to ${max}`)
}

function bad(path: string, value: unknown, accepted: string): HistoryError {
  return new HistoryError('HISTORY_BAD_KNOB', `${path} is ${String(value)}; it must be ${accepted}`)
}
