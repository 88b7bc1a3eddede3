import type { LinkObserver, TenureError } from '@tenure/client'
import type { Cancelled, Committed, Reason, Rejected } from '@tenure/protocol'
import { check, type WorkerError } from '../errors.js'
import type { LogFields, LogLevel, Outcome, TaskFacts } from '../handler.js'

/** The events of a worker, for metrics and logs. Every hook is optional, and none may throw. */
export interface WorkerObserver extends LinkObserver {
  modeChanged?(mode: WorkerMode): void
  /** The worker failed: it leases no more tasks, drains, and `Worker.ended` rejects with this error. Called once. */
  failed?(error: WorkerError): void
  /** A rejection that only a bug or misuse causes (004 §3.3). The worker fails unless `keepGoing` is set. */
  protocolError?(answer: Rejected, what: 'lease' | 'heartbeat' | 'report'): void
  /** A lease request failed; the worker retries after the pause. */
  pollFailed?(error: TenureError, retryInMs: number): void
  /** A task was granted. Its handler starts unless the lease is already over or the worker stops. */
  leased?(task: TaskFacts): void
  /** A heartbeat extended the lease. `leftMs` is the remaining time by the worker's clock. */
  extended?(task: TaskFacts, leftMs: number): void
  /** A heartbeat was not answered, or rejected for a transient reason. The lease stays valid until its deadline. */
  heartbeatFailed?(task: TaskFacts, error: TenureError): void
  /**
   * The lease is lost. After `DEADLINE` the handler is aborted and has its grace; a result that it returns in
   * time is still reported. After every other loss the handler is terminated, and nothing is reported.
   */
  leaseLost?(task: TaskFacts, why: LossReason): void
  /** The handler was aborted, because its execution window is over or the worker stops. */
  aborted?(task: TaskFacts, why: 'WINDOW_OVER' | 'STOPPING'): void
  /** The handler ignored its abort signal and cannot be terminated. Its slot stays taken. */
  handlerStuck?(task: TaskFacts): void
  /** The handler has ended. `wasAborted`: it had been aborted or terminated. */
  handlerEnded?(task: TaskFacts, outcome: Outcome, tookMs: number, wasAborted: boolean): void
  /** The handler logged a line. */
  logged?(task: TaskFacts, level: LogLevel, message: string, fields?: LogFields): void
  /** A report was sent after the deadline. Its answer is reported like that of any report. */
  reportedLate?(task: TaskFacts): void
  /** A report was accepted. */
  committed?(task: TaskFacts, answer: Committed): void
  /** A report arrived too late: the lease had lost its authority, and the result is dropped. */
  cancelled?(task: TaskFacts, answer: Cancelled): void
  /** A request was rejected. `protocolError` follows if only a bug or misuse can cause the rejection. */
  rejected?(task: TaskFacts, answer: Rejected, what: 'report' | 'heartbeat'): void
  /** No report was sent or answered. The coordinator notices when the lease expires. */
  unreported?(task: TaskFacts, why: UnreportedReason): void
  /** A handler thread or process ended while idle. */
  hostCrashed?(reason: string): void
}

/**
 * Why a lease is lost. `DEADLINE`: by the worker's own clock. `GRANTED_ANEW`: this worker was granted the
 * same task again. Otherwise the reason with which a heartbeat was rejected.
 */
export type LossReason = Reason | 'DEADLINE' | 'GRANTED_ANEW'

/** `UNKNOWN`: the report was sent, but it is unknown whether it was accepted. */
export type UnreportedReason = 'LEASE_LOST' | 'STOPPING' | 'NOT_SENT' | 'UNKNOWN'

export const workerHooks = {
  connected: true,
  disconnected: true,
  attemptFailed: true,
  failed: true,
  protocolError: true,
  reportedLate: true,
  modeChanged: true,
  pollFailed: true,
  leased: true,
  extended: true,
  heartbeatFailed: true,
  leaseLost: true,
  aborted: true,
  handlerStuck: true,
  handlerEnded: true,
  logged: true,
  committed: true,
  cancelled: true,
  rejected: true,
  unreported: true,
  hostCrashed: true,
} as const
const hookNames = Object.keys(workerHooks) as (keyof WorkerObserver)[]

export function checkObserver(observer: WorkerObserver = {}): void {
  check.object('options.observer', observer)
  for (const hook of hookNames) {
    if (observer[hook] !== undefined) check.callable(`options.observer.${hook}`, observer[hook])
  }
}

/** The states of a worker; see the drawing at `Worker`. */
export type WorkerMode = 'idle' | 'leasing' | 'running' | 'draining' | 'stopped'

/** Allowed mode changes. */
export const transitions: { readonly [M in WorkerMode]: readonly WorkerMode[] } = {
  idle: ['leasing', 'stopped'],
  leasing: ['running', 'draining'],
  running: ['leasing', 'draining'],
  draining: ['stopped'],
  stopped: [],
}
