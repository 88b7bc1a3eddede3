import type { Knobs } from '@tenure/coordinator-server'
import { defaultKnobs } from '@tenure/coordinator-server/internal'

/**
 * The bounds of an exploration. Everything that can happen within them is explored; what would lead
 * past them does not happen: time stands still, the disk is full, nobody asks more.
 */
export interface Scope {
  readonly name: string
  readonly knobs: Knobs
  /** How many tasks are submitted: one or two. */
  readonly tasks: number
  /** The first instant is 1. An instant is a millisecond, the unit of every time in the log. */
  readonly lastInstant: number
  /** Behind so many records the disk has no room. */
  readonly recordsMax: number
  /** How many requests may be without an answer at once, beside those that wait for a task. */
  readonly requestsInFlight: number
  /** How long a lease request may wait; 0 leaves out those that wait. */
  readonly pollMs: number
  /** Behind it nobody begins to wait. */
  readonly pollsUntilLsn: number
  /** Whether the first worker may seem to be full at any time, and to have room again. */
  readonly mayFill: boolean
}

/** Leases that end within the instants there are, one retry, and poison after two expiries. */
const knobs: Knobs = {
  ...defaultKnobs,
  leaseDurationMs: 2,
  executionWindowMs: 3,
  retryPolicy: { maxRetries: 1, backoff: { kind: 'fixed', delayMs: 1 } },
  poisonThreshold: 2,
  waitMsMax: 2,
}

/**
 * Two tasks and much at once, in logs that are short; one task, with time for all of its life; and one
 * task, with a worker that may be full.
 */
export const fullScopes: readonly Scope[] = [
  {
    name: 'two tasks',
    knobs,
    tasks: 2,
    lastInstant: 4,
    recordsMax: 5,
    mayFill: false,
    requestsInFlight: 2,
    pollMs: 1,
    pollsUntilLsn: 2,
  },
  {
    name: 'one task',
    knobs,
    tasks: 1,
    lastInstant: 5,
    recordsMax: 7,
    mayFill: false,
    requestsInFlight: 1,
    pollMs: 0,
    pollsUntilLsn: 0,
  },
  {
    name: 'a full worker',
    knobs,
    tasks: 1,
    lastInstant: 4,
    recordsMax: 5,
    mayFill: true,
    requestsInFlight: 1,
    pollMs: 2,
    pollsUntilLsn: 4,
  },
]

/** What a run of the test suite has the time for. */
export const quickScopes: readonly Scope[] = [
  {
    name: 'two tasks',
    knobs,
    tasks: 2,
    lastInstant: 3,
    recordsMax: 4,
    mayFill: false,
    requestsInFlight: 1,
    pollMs: 1,
    pollsUntilLsn: 2,
  },
  {
    name: 'a full worker',
    knobs,
    tasks: 1,
    lastInstant: 3,
    recordsMax: 4,
    mayFill: true,
    requestsInFlight: 1,
    pollMs: 1,
    pollsUntilLsn: 2,
  },
]
