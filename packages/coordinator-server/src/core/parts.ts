import type { State } from '@tenure/state-machine'
import type { Checkpointed } from '../checkpoints/checkpointer.js'
import type { Clock, DecisionTime } from '../decide/decision-time.js'
import type { Knobs } from '../decide/knobs.js'
import type { WorkerRegistry } from '../decide/worker-registry.js'
import type { HistoryReader } from '../history/history-reader.js'
import type { CommitLog } from './commit-log.js'
import type { CoordinatorObserver } from './observer.js'

/** What a coordinator is made of. */
export interface CoordinatorParts {
  readonly state: State
  readonly log: CommitLog
  readonly clock: Clock
  readonly time: DecisionTime
  readonly registry: WorkerRegistry
  readonly knobs: Knobs
  /** How large an answer that lists things may get, for it has to fit in a frame. */
  readonly answerBytesMax?: number
  /** How often the log was opened. */
  readonly epoch?: number
  /** How often a coordinator has become ready on this log, not counting the first time. */
  readonly restarts?: number
  /** How many connections are open. */
  readonly connections?: () => number
  /** How much room the log has; no number where the disk does not say. */
  readonly disk?: () => { readonly isFull: boolean; readonly freeBytes: number }
  /** Without one nobody is told what the log holds about a task. */
  readonly history?: HistoryReader
  /** Makes a checkpoint of now. Without it none can be asked for. */
  readonly checkpoint?: () => Promise<Checkpointed>
  /** How many lease requests may wait at once. Without it as many as ask. */
  readonly waitingPollsMax?: number
  readonly observer: CoordinatorObserver
  /** The log has failed: nothing can be decided any more, and the process has to end. */
  readonly onFailure: (error: unknown) => void
}
