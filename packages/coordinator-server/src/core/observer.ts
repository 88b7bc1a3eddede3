import type { Answer, Request } from '@tenure/protocol'
import type { LogRecord } from '@tenure/state-machine'

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
