import type { TrackedAttempt } from '@tenure/history'
import type { LogRecord } from '@tenure/state-machine'

export type LanesBy = 'tasks' | 'workers'

/** Finds the lanes that are worth being drawn one by one, without keeping all of them. */
export interface Ranking {
  /** In words, to be read behind "40 of 2,000 tasks: ". */
  readonly rule: string
  /** How many lanes there are to choose from. */
  readonly total: number
  /** An attempt begins within the span, or runs into it. */
  addAttempt(attempt: TrackedAttempt): void
  /** Any other record within the span, with the attempt that it is about. */
  addRecord(record: LogRecord, attempt: TrackedAttempt | undefined): void
  /** The keys of the best ones. */
  choose(): ReadonlySet<LaneKey>
}

/** A task's id, or a worker's name. */
export type LaneKey = number | string

export function keyOf(lanesBy: LanesBy, { taskId, workerId }: TrackedAttempt): LaneKey {
  return lanesBy === 'tasks' ? taskId : workerId
}
