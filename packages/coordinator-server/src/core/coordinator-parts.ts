import type { Answer, Request } from '@tenure/protocol'
import type { Clock } from '@tenure/seams'
import type { LogRecord } from '@tenure/state-machine'
import type { Checkpointed } from '../checkpoints/checkpointer.js'
import type { Knobs } from '../decide/knobs.js'
import type { HistoryReader } from '../history/history-page.js'
import type { QuestionParts } from '../questions/question-sources.js'
import type { CommitLog } from './commit-log.js'

/** What a coordinator is made of. */
export interface CoordinatorParts extends QuestionParts {
  readonly log: CommitLog
  readonly clock: Clock
  readonly knobs: Knobs
  /** Reads task histories from the log. Without it, requests for them are refused. */
  readonly history?: HistoryReader | undefined
  /** Makes a checkpoint of now. Without it none can be asked for. */
  readonly checkpoint?: (() => Promise<Checkpointed>) | undefined
  /** Maximum number of waiting lease requests; unlimited by default. */
  readonly waitingPollsMax?: number | undefined
  readonly observer: CoordinatorObserver
  /** The log has failed: nothing can be decided any more, and the process has to end. */
  readonly onFailure: (error: unknown) => void
}

/** What the core loop tells about its work, for metrics and logs. Every hook is optional; none may throw. */
export interface CoordinatorObserver {
  /** A request was answered, so long after it arrived. */
  answered?(kind: Request['kind'] | 'malformed', answer: Answer, tookMs: number): void
  /** A record is durable and applied. */
  applied?(record: LogRecord): void
  /** A heartbeat arrived so long before its lease would have expired. */
  leaseMargin?(marginMs: number): void
}

export const coordinatorHooks = { answered: true, applied: true, leaseMargin: true } as const
