import type { CoordinatorParts } from '../core/parts.js'
import type { QueuesAsked } from '../polls/queues-asked.js'
import type { Poll, WaitingPolls } from '../polls/waiting-polls.js'

/** What questions look at: the parts of the coordinator, and what else it has noticed. */
export interface QuestionSources extends CoordinatorParts {
  /** By the time of decisions. */
  readonly startedAt: number
  readonly polls: Pick<WaitingPolls<Poll>, 'size' | 'count' | 'has' | 'next'>
  readonly queuesAsked: QueuesAsked
}
