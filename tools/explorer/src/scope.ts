import type { Knobs } from '@tenure/coordinator-server'
import { defaultKnobs } from '@tenure/coordinator-server/internal'

/**
 * The bounds of an exploration. Everything that can happen within them is explored; a step past
 * them cannot happen: time stands still, the disk is full, peers send nothing more.
 */
export interface Scope {
  readonly name: string
  readonly knobs: Knobs
  /** Number of submitted tasks: one or two. */
  readonly tasks: number
  /**
   * The last instant; the first is 1. An instant is a millisecond, the unit of every time in the
   * log.
   */
  readonly lastInstant: number
  /** The disk is full after this many records. */
  readonly recordsMax: number
  /** Maximum number of concurrent requests without an answer, besides waiting lease requests. */
  readonly requestsInFlight: number
  /** How long a lease request may wait; 0 excludes waiting ones. */
  readonly pollMs: number
  /** After this LSN no request starts to wait. */
  readonly pollsUntilLsn: number
  /**
   * Whether the first worker may report at any time that it is full, or that it has free capacity.
   */
  readonly mayFill: boolean
}

/** Leases that end within the explored instants, one retry, and poison after two expiries. */
const knobs: Knobs = {
  ...defaultKnobs,
  leaseDurationMs: 2,
  executionWindowMs: 3,
  retryPolicy: { maxRetries: 1, backoff: { kind: 'fixed', delayMs: 1 } },
  poisonThreshold: 2,
  waitMsMax: 2,
}

/**
 * Two tasks and many concurrent requests in short logs; one task with time for its whole life; and
 * one task with a worker that may be full.
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

/** Small enough for the test suite. */
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
