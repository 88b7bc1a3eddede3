import type { LinkObserver, TenureError } from '@tenure/client'
import type { Cancelled, Committed, Reason, Rejected } from '@tenure/protocol'
import { check, type WorkerError } from '../errors.js'
import type { LogFields, LogLevel, Outcome, TaskFacts } from '../handler.js'

/** What a worker tells, for metrics and logs. Every hook is optional, and none may throw. */
export interface WorkerObserver extends LinkObserver {
  modeChanged?(mode: WorkerMode): void
  /** The worker ends by itself: it asks for no more tasks, drains, and `Worker.ended` rejects with this error. Told once. */
  failed?(error: WorkerError): void
  /** A refusal that no correct worker earns (004 §3.3). The worker fails, unless `keepGoing` is set. */
  protocolError?(answer: Rejected, what: 'lease' | 'heartbeat' | 'report'): void
  /** No task could be asked for; it is tried again after the pause. */
  pollFailed?(error: TenureError, retryInMs: number): void
  /** A task was granted. Its handler runs, unless the lease is over already or the worker stops. */
  leased?(task: TaskFacts): void
  /** A heartbeat was answered: the lease holds for so long now, by our own clock. */
  extended?(task: TaskFacts, leftMs: number): void
  /** A heartbeat was not answered, or refused in a way that passes. The deadline decides what follows. */
  heartbeatFailed?(task: TaskFacts, error: TenureError): void
  /**
   * The task is not ours any more. After `DEADLINE` the handler is told to end and has its grace; a result that it
   * returns within it is still reported. After every other loss it is terminated, and nothing is reported.
   */
  leaseLost?(task: TaskFacts, why: LossReason): void
  /** The handler was told to end, since its execution window is over, or since the worker stops. */
  aborted?(task: TaskFacts, why: 'WINDOW_OVER' | 'STOPPING'): void
  /** The handler did not end when it was told to, and cannot be terminated. Its slot stays taken. */
  handlerStuck?(task: TaskFacts): void
  /** `wasAborted`: it had been told to end. */
  handlerEnded?(task: TaskFacts, outcome: Outcome, tookMs: number, wasAborted: boolean): void
  /** The handler's own log. */
  logged?(task: TaskFacts, level: LogLevel, message: string, fields?: LogFields): void
  /** A report was sent though the deadline had passed. What becomes of it is told like that of any report. */
  reportedLate?(task: TaskFacts): void
  /** A report was accepted. */
  committed?(task: TaskFacts, answer: Committed): void
  /** It came too late: the execution never had authority, and its result is dropped. */
  cancelled?(task: TaskFacts, answer: Cancelled): void
  /** It made no sense to the coordinator. `protocolError` follows where a correct worker cannot have earned it. */
  rejected?(task: TaskFacts, answer: Rejected, what: 'report' | 'heartbeat'): void
  /** There was no answer, or there was nothing to ask. The coordinator learns it by time. */
  unreported?(task: TaskFacts, why: UnreportedReason): void
  /** A thread or process ended while no task ran in it. */
  hostCrashed?(reason: string): void
}

/**
 * `DEADLINE`: by our own clock. `GRANTED_ANEW`: this same worker was granted the task once more. Else the word
 * with which a heartbeat was refused.
 */
export type LossReason = Reason | 'DEADLINE' | 'GRANTED_ANEW'

/** `UNKNOWN`: the report was sent, and whether it was accepted is not known. */
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

/** What a worker does; drawn at the head of `Worker`. */
export type WorkerMode = 'idle' | 'leasing' | 'running' | 'draining' | 'stopped'

/** From which mode it may come to which. */
export const transitions: { readonly [M in WorkerMode]: readonly WorkerMode[] } = {
  idle: ['leasing', 'stopped'],
  leasing: ['running', 'draining'],
  running: ['leasing', 'draining'],
  draining: ['stopped'],
  stopped: [],
}
