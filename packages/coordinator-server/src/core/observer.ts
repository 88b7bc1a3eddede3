import type { Answer, Request } from '@tenure/protocol'
import type { LogRecord } from '@tenure/state-machine'
import type { LogObserver } from '@tenure/wal'
import type { CheckpointObserver } from '../checkpoints/checkpointer.js'

/** What the core loop tells about its work, for metrics and logs. Every hook is optional; none may throw. */
export interface CoordinatorObserver {
  /** A request was answered, so long after it arrived. */
  answered?(kind: Request['kind'] | 'malformed', answer: Answer, tookMs: number): void
  /** A record is durable and applied. */
  applied?(record: LogRecord): void
  /** A heartbeat arrived so long before its lease would have expired. */
  leaseMargin?(marginMs: number): void
}

/** Tells both, the first one first. */
export function observeBoth(
  one: CoordinatorObserver,
  other: CoordinatorObserver,
): CoordinatorObserver {
  return {
    answered: (kind, answer, tookMs) => {
      one.answered?.(kind, answer, tookMs)
      other.answered?.(kind, answer, tookMs)
    },
    applied: (record) => {
      one.applied?.(record)
      other.applied?.(record)
    },
    leaseMargin: (marginMs) => {
      one.leaseMargin?.(marginMs)
      other.leaseMargin?.(marginMs)
    },
  }
}

/** Tells both what the log tells, the first one first. */
export function observeLogTwice(one: LogObserver, other: LogObserver): LogObserver {
  return {
    ...other,
    committed: (commit) => {
      one.committed?.(commit)
      other.committed?.(commit)
    },
  }
}

/** Tells both of checkpoints, the first one first. */
export function observeCheckpointsTwice(
  one: CheckpointObserver,
  other: CheckpointObserver,
): CheckpointObserver {
  return {
    checkpointBegun: (lsn) => {
      one.checkpointBegun?.(lsn)
      other.checkpointBegun?.(lsn)
    },
    checkpointed: (made) => {
      one.checkpointed?.(made)
      other.checkpointed?.(made)
    },
    historyRemoved: (removed) => {
      one.historyRemoved?.(removed)
      other.historyRemoved?.(removed)
    },
    checkpointFailed: (error) => {
      one.checkpointFailed?.(error)
      other.checkpointFailed?.(error)
    },
  }
}
