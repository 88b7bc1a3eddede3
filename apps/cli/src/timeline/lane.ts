import type { TrackedAttempt } from '@tenure/history'
import type { Bins } from './bins.js'
import type { Wait } from './course.js'
import type { Pulse } from './pulse.js'

/** A task or a worker over time. */
export interface Lane {
  readonly name: string
  /** Beside the name: the queue of a task. */
  readonly note: string
  /** What became of it. */
  readonly outcome: string
  /** In the order in which they were granted. */
  readonly attempts: readonly LaneAttempt[]
  readonly waits: readonly Wait[]
  /** Attempts that are only counted. */
  readonly rest: Rest | undefined
}

export type LaneAttempt = Omit<TrackedAttempt, 'heartbeats'> & { readonly pulse: Pulse }

export interface Rest {
  readonly running: Bins
  /** By how they ended. */
  readonly outcomes: ReadonlyMap<Outcome, number>
}

export type Outcome = 'COMPLETED' | 'FAILED' | 'EXPIRED' | 'DEAD' | 'OPEN'

export function outcomeOf({ end }: Pick<TrackedAttempt, 'end'>): Outcome {
  return end?.outcome ?? 'OPEN'
}

/**
 * When the worker was last heard of under this lease, before it ended; `undefined` where the
 * heartbeats that may have come were removed.
 */
export function lastSignOf({ pulse, grantedAt }: LaneAttempt): number | undefined {
  return pulse.ticks.at(-1) ?? (pulse.isWhole ? grantedAt : undefined)
}

/** Until when there was something of it: at least a thin line, up to the report that came too late. */
export function lastMomentOf({
  end,
  lateReport,
}: Pick<TrackedAttempt, 'end' | 'lateReport'>): number {
  return lateReport?.at ?? end?.at ?? Number.POSITIVE_INFINITY
}
