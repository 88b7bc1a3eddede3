import { type Link, RejectedError, TenureError } from '@tenure/client'
import type { Answer, Leased, Rejected } from '@tenure/protocol'
import type { Timer } from '@tenure/seams'
import { WorkerError } from '../errors.js'
import {
  describeThrown,
  type LogFields,
  type LogLevel,
  type Outcome,
  type TaskFacts,
} from '../handler.js'
import type { Isolation, Run, RunEvents } from '../isolation/isolation.js'
import type { LossReason, UnreportedReason, WorkerObserver } from '../observe/observer.js'
import { meaningOf } from '../refusals.js'
import { Authority } from './authority.js'
import type { Armable, DeferredTimers } from './deferred-timers.js'
import { type Report, type ReportIds, toReport } from './report.js'
import { Reporting, reportLate, type Verdict } from './reporting.js'
import { Termination } from './termination.js'

export interface ExecutionContext {
  readonly link: Link
  readonly isolation: Isolation
  readonly observer: WorkerObserver
  readonly listener: ExecutionListener
  readonly deferredTimers: DeferredTimers
  readonly reportIds: ReportIds
  /** By which share of a duration the clocks of worker and coordinator may differ. */
  readonly clockDrift: number
  /** Time an aborted handler has to end before it is terminated. */
  readonly abortGraceMs: number
}

interface ExecutionListener {
  /** The handler has ended; its slot is free. */
  slotFreed(): void
  /** A rejection that only a bug or misuse causes. */
  misused(answer: Rejected, what: 'heartbeat' | 'report', task: TaskFacts): void
  /** The execution is over. Called once, as the last event. */
  over(execution: Execution): void
}

/**
 * One task under one lease, from the grant to the last answer.
 *
 *               ┌── the handler ended ────────────────▶ reporting ── answered, or given up ──┐
 *               │                                           ▲                                │
 *               │                               ┌── it returned                              │
 *     running ──┼── the deadline passed ──▶ overdue ── it ended otherwise, or too late ──────┼─▶ over
 *               │                               │                                            │
 *               │                       the loss is known                                    │
 *               │                               ▼                                            │
 *               └── the loss is known ──────▶ revoked ── the handler is gone ────────────────┘
 *
 * While the execution is `running`, heartbeats go out, whatever the handler does. The end of the execution
 * window and a stop of the worker abort the handler but keep the lease. The execution then stays `running`
 * until the handler ends.
 *
 * While it is `overdue`, the lease is lost by this worker's clock only. The handler has its grace, and a
 * result that it returns in time is sent once: the coordinator decides. Once the coordinator has reported the
 * loss (004 §4), the handler is terminated, and neither its log lines nor its result are passed on.
 */
export class Execution implements RunEvents, Armable {
  readonly facts: TaskFacts
  readonly #context: ExecutionContext
  readonly #authority: Authority
  readonly #startedAtMs: number
  #mode: 'running' | 'overdue' | 'revoked' | 'reporting' | 'over' = 'running'
  #run: Run | undefined
  /** Set once the handler was aborted or terminated. */
  #termination: Termination | undefined
  /** When each action is due. One timer serves all of them. */
  #heartbeatAtMs: number
  #windowAbortAtMs: number
  /** Time the handler has to end after its execution window is over. */
  readonly #windowGraceMs: number
  /** The worker stops, and sends no more heartbeats. */
  #isLeft = false
  #timer: Timer | undefined

  constructor(lease: Leased, sentAtMs: number, context: ExecutionContext) {
    const { taskId, leaseId, attempt, queue } = lease
    this.facts = { taskId, queue, attempt, leaseId }
    this.#context = context
    this.#authority = new Authority(lease, sentAtMs, context.clockDrift)
    this.#startedAtMs = context.link.clock.monotonicMs()
    this.#heartbeatAtMs = this.#nextBeat(this.#startedAtMs, this.#heartbeatIntervalMs)
    this.#windowGraceMs = Math.min(context.abortGraceMs, lease.windowMs / 20)
    // Leaves one grace for the handler to end, and one for its report to arrive.
    this.#windowAbortAtMs = this.#authority.windowEndMs - 2 * this.#windowGraceMs
  }

  start(payload: Uint8Array): void {
    const { isolation, observer, link, listener, deferredTimers } = this.#context
    const deadline = Math.floor(link.clock.now() + this.#windowAbortAtMs - this.#startedAtMs)
    observer.leased?.(this.facts)
    // The answer may have travelled longer than the lease lasts.
    if (this.#isOverdue) {
      listener.slotFreed()
      observer.leaseLost?.(this.facts, 'DEADLINE')
      this.#giveUp('LEASE_LOST')
      return
    }
    const { taskId, queue, attempt, leaseId } = this.facts
    try {
      this.#run = isolation.run({ taskId, queue, attempt, leaseId, payload, deadline }, this)
    } catch (error) {
      // The system may be out of threads or processes.
      const { reason } = describeThrown(error)
      this.ended({ kind: 'crashed', reason: `the handler could not be started: ${reason}` })
      return
    }
    deferredTimers.begun(this)
  }

  /** The worker stops: aborts the handler and lets the lease expire. */
  leave(): void {
    if (this.#mode !== 'running') return
    this.#isLeft = true
    this.#heartbeatAtMs = Number.POSITIVE_INFINITY
    this.#abort('STOPPING', 'the worker stops')
  }

  /** The worker has stopped: gives the execution up, even if its handler could not be terminated. */
  abandon(): void {
    if (this.#mode === 'running') this.#giveUp('STOPPING')
    else if (this.#mode === 'overdue' || this.#mode === 'revoked') this.#giveUp('LEASE_LOST')
    // An unanswered report is given up when the link closes.
  }

  get #now(): number {
    return this.#context.link.clock.monotonicMs()
  }

  /** Whether the handler's result and log lines may still count. */
  get #isHeard(): boolean {
    return this.#mode === 'running' || this.#mode === 'overdue'
  }

  get #isOverdue(): boolean {
    return this.#now >= this.#authority.deadlineMs
  }

  get #heartbeatIntervalMs(): number {
    // The welcome always exists, because the lease was granted after it.
    return this.#context.link.welcome?.heartbeatIntervalMs ?? Number.POSITIVE_INFINITY
  }

  get dueAtMs(): number {
    return Math.min(this.#authority.deadlineMs, this.#heartbeatAtMs, this.#windowAbortAtMs)
  }

  arm(): void {
    if (this.#timer === undefined) this.#attend()
  }

  /** The next heartbeat is due earlier if little of the lease is left, so that another one can follow. */
  #nextBeat(now: number, pauseMs: number): number {
    const leftMs = this.#authority.deadlineMs - now
    return now + Math.max(this.#heartbeatIntervalMs / 8, Math.min(pauseMs, leftMs / 2))
  }

  /** The task was granted again, so this lease is over, whatever the clock says. */
  supersede(): void {
    if (this.#isHeard) this.#revoke('GRANTED_ANEW')
  }

  /** Does what is due, and sets the timer for the next action. */
  #attend(): void {
    this.#timer?.cancel()
    if (this.#mode !== 'running') return
    const delayMs = this.dueAtMs - this.#now
    // Not through a timer: after a blocked loop, this must run before messages that arrived in the meantime.
    if (delayMs <= 0) this.#onDue()
    else this.#timer = this.#context.link.clock.setTimer(delayMs, () => this.#attend())
  }

  #onDue(): void {
    const now = this.#now
    if (this.#isOverdue) {
      this.#passDeadline()
      return
    }
    if (now >= this.#windowAbortAtMs) this.#abort('WINDOW_OVER', 'the execution window is over')
    else if (now >= this.#heartbeatAtMs) this.#beat()
    this.#attend()
  }

  /** Sends a heartbeat, again after a lost connection. Not sent once it would arrive too late. */
  #beat(): void {
    this.#heartbeatAtMs = Number.POSITIVE_INFINITY
    const { taskId, leaseId } = this.facts
    // A request given up before it was sent must not lead to another one immediately.
    let sentAtMs = this.#now
    const leftMs = Math.max(1, this.#authority.deadlineMs - this.#now)
    const options = {
      retry: true,
      // Also past the deadline: a rejection terminates a handler that still has its grace.
      timeoutMs: leftMs + this.#context.abortGraceMs,
      maySend: () => this.#mode === 'running' && !this.#isOverdue,
      onSent: () => {
        sentAtMs = this.#now
      },
    }
    this.#context.link.ask({ kind: 'heartbeat', taskId, leaseId }, options, (answer) => {
      // Once a report was sent, its answer decides; an older heartbeat's answer is irrelevant.
      if (this.#isHeard) this.#onBeaten(answer, sentAtMs)
    })
  }

  #onBeaten(answer: Answer | TenureError, sentAtMs: number): void {
    const { observer } = this.#context
    const now = this.#now
    let pauseMs = sentAtMs + this.#heartbeatIntervalMs - now
    if (answer instanceof TenureError) {
      observer.heartbeatFailed?.(this.facts, answer)
    } else if (answer.kind === 'extended' && this.#mode === 'running') {
      this.#authority.extend(answer, sentAtMs)
      observer.extended?.(this.facts, this.#authority.deadlineMs - now)
    } else if (answer.kind === 'rejected' && meaningOf(answer.reason) === 'transient') {
      const refusal = new RejectedError(answer)
      pauseMs = refusal.retryAfterMs ?? pauseMs
      observer.heartbeatFailed?.(this.facts, refusal)
    } else if (answer.kind === 'rejected') {
      this.#revoke(answer.reason)
      if (meaningOf(answer.reason) !== 'lost') this.#tellRejected(answer, 'heartbeat')
      return
    }
    if (!this.#isLeft) this.#heartbeatAtMs = this.#nextBeat(now, pauseMs)
    this.#attend()
  }

  /** The lease is lost by this worker's clock. The coordinator may have extended it. */
  #passDeadline(): void {
    this.#mode = 'overdue'
    this.#timer?.cancel()
    this.#context.observer.leaseLost?.(this.facts, 'DEADLINE')
    this.#ensureTermination()?.abort(leaseLost('DEADLINE'), this.#context.abortGraceMs)
  }

  /** The coordinator reported the loss: stop all work (004 §4). */
  #revoke(why: LossReason): void {
    const isNews = this.#mode === 'running'
    this.#mode = 'revoked'
    this.#timer?.cancel()
    if (isNews) this.#context.observer.leaseLost?.(this.facts, why)
    this.#ensureTermination()?.terminate(leaseLost(why), this.#context.abortGraceMs)
  }

  #abort(why: 'WINDOW_OVER' | 'STOPPING', message: string): void {
    this.#windowAbortAtMs = Number.POSITIVE_INFINITY
    this.#context.observer.aborted?.(this.facts, why)
    const graceMs = why === 'WINDOW_OVER' ? this.#windowGraceMs : this.#context.abortGraceMs
    this.#ensureTermination()?.abort(new WorkerError(`WORKER_${why}`, message), graceMs)
  }

  #ensureTermination(): Termination | undefined {
    if (this.#run === undefined) return undefined
    const { link, observer } = this.#context
    const onStuck = () => observer.handlerStuck?.(this.facts)
    this.#termination ??= new Termination(this.#run, link.clock, onStuck)
    return this.#termination
  }

  /** Arrow functions, because an isolation may pass these two on unbound. */
  readonly ended = (outcome: Outcome): void => {
    if (this.#mode === 'over') return
    this.#timer?.cancel()
    this.#termination?.finish()
    const { observer, listener } = this.#context
    const tookMs = this.#now - this.#startedAtMs
    observer.handlerEnded?.(this.facts, outcome, tookMs, this.#termination !== undefined)
    listener.slotFreed()
    // The clock is checked here too, since the loop may have been blocked past the deadline.
    if (this.#mode === 'revoked') this.#giveUp('LEASE_LOST')
    else if (this.#mode === 'overdue' || this.#isOverdue) this.#endOverdue(outcome)
    else if (this.#isBrokenOff(outcome)) this.#giveUp('STOPPING')
    else this.#report(outcome)
  }

  readonly logged = (level: LogLevel, message: string, fields?: LogFields): void => {
    if (this.#isHeard) this.#context.observer.logged?.(this.facts, level, message, fields)
  }

  /** A handler that a stopping worker aborted has not failed. */
  #isBrokenOff(outcome: Outcome): boolean {
    return this.#termination?.reason?.code === 'WORKER_STOPPING' && outcome.kind !== 'returned'
  }

  #report(outcome: Outcome): void {
    this.#mode = 'reporting'
    const { link } = this.#context
    const { deadlineMs } = this.#authority
    const conclude = (verdict: Verdict) => this.#conclude(verdict)
    new Reporting(link, this.#toReport(outcome), deadlineMs, conclude).send()
  }

  /**
   * Only a result is reported after the deadline. An error is most likely caused by the abort, and a failure
   * committed before the expiry would use up a retry.
   */
  #endOverdue(outcome: Outcome): void {
    if (this.#mode === 'running') this.#context.observer.leaseLost?.(this.facts, 'DEADLINE')
    const isInGrace = this.#termination?.isGraceOver !== true
    const report = isInGrace ? this.#toReport(outcome) : undefined
    if (report?.kind === 'complete') this.#reportLate(report)
    else this.#giveUp('LEASE_LOST')
  }

  #reportLate(report: Report): void {
    this.#mode = 'reporting'
    const { link, observer } = this.#context
    const onSent = () => observer.reportedLate?.(this.facts)
    reportLate(link, report, onSent, (verdict) => this.#conclude(verdict))
  }

  #toReport(outcome: Outcome): Report {
    const { link, reportIds } = this.#context
    const timeout =
      this.#termination?.reason?.code === 'WORKER_WINDOW_OVER' ? timeoutReason : undefined
    const resultBytesMax = link.limits?.resultBytesMax ?? 0
    return toReport(this.facts, reportIds.next(), outcome, resultBytesMax, timeout)
  }

  #conclude(verdict: Verdict): void {
    try {
      this.#tell(verdict)
    } finally {
      // Even if an observer throws.
      this.#end()
    }
  }

  #tell(verdict: Verdict): void {
    const { observer } = this.#context
    switch (verdict.kind) {
      case 'committed':
        observer.committed?.(this.facts, verdict)
        break
      case 'cancelled':
        observer.cancelled?.(this.facts, verdict)
        break
      case 'rejected':
        this.#tellRejected(verdict, 'report')
        break
      case 'unanswered':
        observer.unreported?.(this.facts, verdict.wasSent ? 'UNKNOWN' : 'NOT_SENT')
        break
    }
  }

  #tellRejected(answer: Rejected, what: 'heartbeat' | 'report'): void {
    const { observer, listener } = this.#context
    observer.rejected?.(this.facts, answer, what)
    if (meaningOf(answer.reason) === 'misuse') listener.misused(answer, what, this.facts)
  }

  #giveUp(why: UnreportedReason): void {
    this.#context.observer.unreported?.(this.facts, why)
    this.#end()
  }

  #end(): void {
    this.#timer?.cancel()
    this.#termination?.finish()
    this.#mode = 'over'
    this.#context.listener.over(this)
  }
}

function leaseLost(why: LossReason): WorkerError {
  return new WorkerError('WORKER_LEASE_LOST', `the lease is lost: ${describeLoss(why)}`)
}

function describeLoss(why: LossReason): string {
  switch (why) {
    case 'DEADLINE':
      return "its deadline has passed by this worker's clock, so the coordinator will most likely drop the result"
    case 'GRANTED_ANEW':
      return 'this worker was granted the same task again, so the result of this attempt will be dropped'
    default:
      return `the coordinator rejected a heartbeat with ${why}, so the result will be dropped`
  }
}

const timeoutReason = 'timeout: the execution window is over'
