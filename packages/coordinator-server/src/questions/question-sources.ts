import type { State } from '@tenure/state-machine'
import type { DecisionTime } from '../decide/decision-time.js'
import type { WorkerRegistry } from '../decide/worker-registry.js'
import type { QueuesAsked } from '../polls/queues-asked.js'
import type { Poll, WaitingPolls } from '../polls/waiting-polls.js'

/** The sources of answers to questions: applied state, and facts that the coordinator keeps in memory. */
export interface QuestionSources extends QuestionParts {
  /** By the time of decisions. */
  readonly startedAt: number
  readonly polls: Pick<WaitingPolls<Poll>, 'size' | 'count' | 'has' | 'next'>
  readonly queuesAsked: QueuesAsked
}

/** The sources that a coordinator is given. */
export interface QuestionParts {
  readonly state: State
  readonly time: DecisionTime
  readonly registry: WorkerRegistry
  /** Maximum size of an answer that is a list: it has to fit in a frame. */
  readonly answerBytesMax?: number
  /** How often the log was opened. */
  readonly epoch?: number
  /** How often a coordinator has become ready on this log, not counting the first time. */
  readonly restarts?: number
  /** Number of open connections. */
  readonly connections?: () => number
  /** How much room the log has; no number where the disk does not say. */
  readonly disk?: () => { readonly isFull: boolean; readonly freeBytes: number }
}

const pageBytesMax = 128 * 1024

/** How large a page gets: an answer may be smaller than that. */
export function pageBytes({ answerBytesMax = pageBytesMax }: QuestionParts): number {
  return Math.min(pageBytesMax, answerBytesMax)
}
