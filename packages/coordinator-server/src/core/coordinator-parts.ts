import type { Answer, Request } from '@tenure/protocol'
import type { Clock } from '@tenure/seams'
import type { LogRecord } from '@tenure/state-machine'
import type { Checkpointed } from '../checkpoints/checkpointer.js'
import type { Knobs } from '../decide/knobs.js'
import type { HistoryReader } from '../history/history-page.js'
import type { QueryParts } from '../queries/query-sources.js'
import type { CommitLog } from './commit-log.js'

/** The coordinator's dependencies. */
export interface CoordinatorParts extends QueryParts {
  readonly log: CommitLog
  readonly clock: Clock
  readonly knobs: Knobs
  /** Reads task histories from the log. If absent, history requests are rejected. */
  readonly history?: HistoryReader | undefined
  /** Makes a checkpoint of the current state. If absent, checkpoint requests are rejected. */
  readonly checkpoint?: (() => Promise<Checkpointed>) | undefined
  /** Maximum number of waiting lease requests; unlimited by default. */
  readonly waitingPollsMax?: number | undefined
  readonly observer: CoordinatorObserver
  /** The log has failed: no further decision is possible, and the process must exit. */
  readonly onFailure: (error: unknown) => void
}

/** Events of the core loop, for metrics and logs. Every hook is optional and must not throw. */
export interface CoordinatorObserver {
  /** A request was answered `tookMs` after it arrived. */
  answered?(kind: Request['kind'] | 'malformed', answer: Answer, tookMs: number): void
  /** A record is durable and applied. */
  applied?(record: LogRecord): void
  /** A heartbeat arrived `marginMs` before its lease would have expired. */
  leaseMargin?(marginMs: number): void
}

export const coordinatorHooks = { answered: true, applied: true, leaseMargin: true } as const
