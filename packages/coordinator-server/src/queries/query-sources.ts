import type { State } from '@tenure/state-machine'
import type { DecisionClock } from '../decide/decision-time.js'
import type { WorkerRegistry } from '../decide/worker-registry.js'
import type { RequestedQueues } from '../polls/requested-queues.js'
import type { Poll, WaitingPolls } from '../polls/waiting-polls.js'

/** The sources of answers to queries: applied state, and facts that the coordinator keeps in memory. */
export interface QuerySources extends QueryParts {
  /** In decision time. */
  readonly startedAt: number
  readonly polls: Pick<WaitingPolls<Poll>, 'size' | 'count' | 'has' | 'next'>
  readonly requestedQueues: RequestedQueues
}

/** The sources that are passed to the coordinator. */
export interface QueryParts {
  readonly state: State
  readonly time: DecisionClock
  readonly registry: WorkerRegistry
  /** Maximum size of an answer with a list, which must fit into a frame. */
  readonly answerBytesMax?: number
  /** Number of times the log was opened. */
  readonly epoch?: number
  /** Number of times a coordinator became ready on this log, not counting the first. */
  readonly restarts?: number
  /** Number of open connections. */
  readonly connections?: () => number
  /** Space on the log's disk; `freeBytes` is NaN when it is unknown. */
  readonly disk?: () => { readonly isFull: boolean; readonly freeBytes: number }
}

const pageBytesMax = 128 * 1024

/** Maximum page size: the default, or the answer limit if that is smaller. */
export function pageBytes({ answerBytesMax = pageBytesMax }: QueryParts): number {
  return Math.min(pageBytesMax, answerBytesMax)
}
