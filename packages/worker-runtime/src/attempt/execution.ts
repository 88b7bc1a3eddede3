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
import { Ending } from './ending.js'
import type { Armable, LateTimers } from './late-timers.js'
import { type Report, type ReportIds, toReport } from './report.js'
import { Reporting, reportLate, type Verdict } from './reporting.js'

export interface ExecutionContext {
  readonly link: Link
  readonly isolation: Isolation
  readonly observer: WorkerObserver
  readonly listener: ExecutionListener
  readonly lateTimers: LateTimers
  readonly reportIds: ReportIds
  /** By which part of a duration our clock and the coordinator's may come apart. */
  readonly clockDrift: number
  /** How long a handler that was told to end may take before it is terminated. */
  readonly abortGraceMs: number
}

interface ExecutionListener {
  /** The handler is gone, and its slot is free. */
  slotFreed(): void
  /** A refusal that no correct worker earns. */
  misused(answer: Rejected, what: 'heartbeat' | 'report', task: TaskFacts): void
  /** Nothing will come of it any more: once, and the last. */
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
 * While it is running, heartbeats go out, whatever the handler does. Two things end a handler before
 * its time without taking the lease from it: the end of its execution window, and the worker's own
 * end. Both leave it `running`; what the handler makes of the rest decides.
 *
 * While it is overdue the lease is lost by this worker's clock alone. The handler has its grace, and a
 * result that it returns within it is sent once: the coordinator has the last word. Once the loss is
 * known (004 §4) the handler is terminated, and nothing that it says gets out.
 */
export class Execution implements RunEvents, Armable {
  readonly facts: TaskFacts
  readonly #context: ExecutionContext
  readonly #authority: Authority
  readonly #startedAtMs: number
  #mode: 'running' | 'overdue' | 'revoked' | 'reporting' | 'over' = 'running'
  #run: Run | undefined
  /** It was told to end. */
  #ending: Ending | undefined
  /** When what is due next: one timer serves them all. */
  #heartbeatAtMs: number
  #windowAbortAtMs: number
  /** How long the handler may take to end when its execution window is over. */
  readonly #windowGraceMs: number
  /** The worker stops; heartbeats have ended. */
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
    // Early enough for the handler to end or be terminated, and as long again for its report to arrive.
    this.#windowAbortAtMs = this.#authority.windowEndMs - 2 * this.#windowGraceMs
  }

  start(payload: Uint8Array): void {
    const { isolation, observer, link, listener, lateTimers } = this.#context
    const deadline = Math.floor(link.clock.now() + this.#windowAbortAtMs - this.#startedAtMs)
    observer.leased?.(this.facts)
    // The answer may have travelled for longer than its lease holds.
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
      // The system has no thread or process left to give, say.
      const { reason } = describeThrown(error)
      this.ended({ kind: 'crashed', reason: `the handler was not started: ${reason}` })
      return
    }
    lateTimers.begun(this)
  }

  /** The worker stops: what does not end by itself now is left for the lease to expire. */
  leave(): void {
    if (this.#mode !== 'running') return
    this.#isLeft = true
    this.#heartbeatAtMs = Number.POSITIVE_INFINITY
    this.#abort('STOPPING', 'the worker stops')
  }

  /** The worker is gone: the handler, if it could not be terminated, runs on without it. */
  abandon(): void {
    if (this.#mode === 'running') this.#giveUp('STOPPING')
    else if (this.#mode === 'overdue' || this.#mode === 'revoked') this.#giveUp('LEASE_LOST')
    // A report is given up with its connection.
  }

  get #now(): number {
    return this.#context.link.clock.monotonicMs()
  }

  /** The handler is not gone, and what it does may still count. */
  get #isHeard(): boolean {
    return this.#mode === 'running' || this.#mode === 'overdue'
  }

  get #isOverdue(): boolean {
    return this.#now >= this.#authority.deadlineMs
  }

  get #heartbeatIntervalMs(): number {
    // There was a welcome: without one there would be no lease.
    return this.#context.link.welcome?.heartbeatIntervalMs ?? Number.POSITIVE_INFINITY
  }

  get dueAtMs(): number {
    return Math.min(this.#authority.deadlineMs, this.#heartbeatAtMs, this.#windowAbortAtMs)
  }

  arm(): void {
    if (this.#timer === undefined) this.#attend()
  }

  /** Sooner where little of the lease is left: there has to be time for another one behind it. */
  #nextBeat(now: number, pauseMs: number): number {
    const leftMs = this.#authority.deadlineMs - now
    return now + Math.max(this.#heartbeatIntervalMs / 8, Math.min(pauseMs, leftMs / 2))
  }

  /** The task was granted anew: this lease is over, whatever the clock says. */
  supersede(): void {
    if (this.#isHeard) this.#revoke('GRANTED_ANEW')
  }

  /** Does what is due, and sets the timer for what is next. */
  #attend(): void {
    this.#timer?.cancel()
    if (this.#mode !== 'running') return
    const delayMs = this.dueAtMs - this.#now
    // At once: the loop may have stood still, and what has arrived meanwhile must not come first.
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

  /** Sent again after a lost connection; not sent once it could only come too late. */
  #beat(): void {
    this.#heartbeatAtMs = Number.POSITIVE_INFINITY
    const { taskId, leaseId } = this.facts
    // One that is given up before it is sent must not be followed by the next at once.
    let sentAtMs = this.#now
    const leftMs = Math.max(1, this.#authority.deadlineMs - this.#now)
    const options = {
      retry: true,
      // Beyond the deadline, too: a refusal ends a handler that still has its grace.
      timeoutMs: leftMs + this.#context.abortGraceMs,
      maySend: () => this.#mode === 'running' && !this.#isOverdue,
      onSent: () => {
        sentAtMs = this.#now
      },
    }
    this.#context.link.ask({ kind: 'heartbeat', taskId, leaseId }, options, (answer) => {
      // While a report is on its way its answer decides; a heartbeat that it overtook is no news.
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
    } else if (answer.kind === 'rejected' && meaningOf(answer.reason) === 'passes') {
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

  /** The lease is lost as far as this worker can tell: the coordinator may know better. */
  #passDeadline(): void {
    this.#mode = 'overdue'
    this.#timer?.cancel()
    this.#context.observer.leaseLost?.(this.facts, 'DEADLINE')
    this.#ensureEnding()?.tell(leaseLost('DEADLINE'), this.#context.abortGraceMs)
  }

  /** The loss is known: 004 §4, stop all work. */
  #revoke(why: LossReason): void {
    const isNews = this.#mode === 'running'
    this.#mode = 'revoked'
    this.#timer?.cancel()
    if (isNews) this.#context.observer.leaseLost?.(this.facts, why)
    this.#ensureEnding()?.cutOff(leaseLost(why), this.#context.abortGraceMs)
  }

  #abort(why: 'WINDOW_OVER' | 'STOPPING', message: string): void {
    this.#windowAbortAtMs = Number.POSITIVE_INFINITY
    this.#context.observer.aborted?.(this.facts, why)
    const graceMs = why === 'WINDOW_OVER' ? this.#windowGraceMs : this.#context.abortGraceMs
    this.#ensureEnding()?.tell(new WorkerError(`WORKER_${why}`, message), graceMs)
  }

  #ensureEnding(): Ending | undefined {
    if (this.#run === undefined) return undefined
    const { link, observer } = this.#context
    const onStuck = () => observer.handlerStuck?.(this.facts)
    this.#ending ??= new Ending(this.#run, link.clock, onStuck)
    return this.#ending
  }

  /** An isolation may hand these two on as they are. */
  readonly ended = (outcome: Outcome): void => {
    if (this.#mode === 'over') return
    this.#timer?.cancel()
    this.#ending?.over()
    const { observer, listener } = this.#context
    const tookMs = this.#now - this.#startedAtMs
    observer.handlerEnded?.(this.facts, outcome, tookMs, this.#ending !== undefined)
    listener.slotFreed()
    // Asked here and not only in time: the loop may have stood still.
    if (this.#mode === 'revoked') this.#giveUp('LEASE_LOST')
    else if (this.#mode === 'overdue' || this.#isOverdue) this.#endOverdue(outcome)
    else if (this.#isBrokenOff(outcome)) this.#giveUp('STOPPING')
    else this.#report(outcome)
  }

  readonly logged = (level: LogLevel, message: string, fields?: LogFields): void => {
    if (this.#isHeard) this.#context.observer.logged?.(this.facts, level, message, fields)
  }

  /** That a stopping worker broke a handler off says nothing against the task. */
  #isBrokenOff(outcome: Outcome): boolean {
    return this.#ending?.reason?.code === 'WORKER_STOPPING' && outcome.kind !== 'returned'
  }

  #report(outcome: Outcome): void {
    this.#mode = 'reporting'
    const { link } = this.#context
    const { deadlineMs } = this.#authority
    const conclude = (verdict: Verdict) => this.#conclude(verdict)
    new Reporting(link, this.#toReport(outcome), deadlineMs, conclude).send()
  }

  /**
   * A throw after the deadline is most likely the abort, and a failure that is committed before the
   * expiry would use up a retry: only a result is reported.
   */
  #endOverdue(outcome: Outcome): void {
    if (this.#mode === 'running') this.#context.observer.leaseLost?.(this.facts, 'DEADLINE')
    const isInGrace = this.#ending?.isGraceOver !== true
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
    const timeout = this.#ending?.reason?.code === 'WORKER_WINDOW_OVER' ? timeoutReason : undefined
    const resultBytesMax = link.limits?.resultBytesMax ?? 0
    return toReport(this.facts, reportIds.next(), outcome, resultBytesMax, timeout)
  }

  #conclude(verdict: Verdict): void {
    try {
      this.#tell(verdict)
    } finally {
      // Whatever somebody else's code makes of it.
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
    this.#ending?.over()
    this.#mode = 'over'
    this.#context.listener.over(this)
  }
}

function leaseLost(why: LossReason): WorkerError {
  return new WorkerError('WORKER_LEASE_LOST', `the lease is lost: ${why}`)
}

const timeoutReason = 'timeout: the execution window was over'
