import type {
  Answer,
  Complete,
  Fail,
  Heartbeat,
  Kill,
  Lease,
  MalformedRequest,
  Request,
  Submit,
} from '@tenure/protocol'
import type { Timer } from '@tenure/seams'
import { defaultQueue, getLease, type LogRecord, nextEligibleAt } from '@tenure/state-machine'
import { getQueue } from '@tenure/state-machine/internal'
import { answerCheckpoint } from '../checkpoints/answer-checkpoint.js'
import type { Caller, Decision, DecisionContext } from '../decide/decision.js'
import { decideHeartbeat, decideLease, noCapacity, rankOf } from '../decide/lease-manager.js'
import { decideKill, decideReport, decideSubmit } from '../decide/task-manager.js'
import { CoordinatorError } from '../errors.js'
import { RequestedQueues } from '../polls/requested-queues.js'
import { type Poll, WaitingPolls } from '../polls/waiting-polls.js'
import { PendingQueries } from '../queries/pending-queries.js'
import { rejected, rejectedForNow, tooManyRetryMs } from '../refusals.js'
import { Alarm } from './alarm.js'
import { Commits, type LockedKeys, type Reply, type Urgency } from './commits.js'
import type { CoordinatorParts } from './coordinator-parts.js'
import { PendingRequest, type Session } from './pending-request.js'
import { noSpaceRetryMs, Timekeeper } from './timekeeper.js'

/**
 * The core loop (001 §7). It alone determines the order of decisions:
 *
 *     request → decide → append → durable → apply → answer
 *
 * A task with an in-flight record is locked. Requests about it wait, and are decided after the record is
 * applied. Every decision therefore reads applied state, and no answered request can be lost.
 */
export class Coordinator {
  readonly #parts: CoordinatorParts
  readonly #commits: Commits
  readonly #polls: WaitingPolls<WaitingPoll>
  readonly #requestedQueues = new RequestedQueues()
  readonly #queries: PendingQueries
  readonly #alarm: Alarm
  readonly #timekeeper: Timekeeper
  /** Requests about tasks that are being forgotten. */
  readonly #waitingForForget: PendingRequest[] = []
  /** Queues with a newly eligible task, or with a waiting worker that has capacity again. */
  readonly #queuesToOffer = new Set<string>()
  /** Submissions in flight. */
  readonly #submissions = { count: 0, bytes: 0 }
  /** Connections of workers. */
  readonly #workers = new WeakSet<Session>()
  /** Closed connections, whose queued lease requests must not be granted. */
  readonly #closedSessions = new WeakSet<Session>()
  #hasStarted = false
  #isStopping = false
  #hasFailed = false

  constructor(parts: CoordinatorParts) {
    const { state, log, clock, time, registry } = parts
    this.#parts = parts
    this.#polls = new WaitingPolls((name) => rankOf(registry.advice(name)))
    registry.watch((name) => this.#noteAdvice(name))
    const seen = {
      polls: this.#polls,
      requestedQueues: this.#requestedQueues,
      startedAt: time.now(),
    }
    this.#queries = new PendingQueries({ ...parts, ...seen }, parts)
    this.#alarm = new Alarm(clock, time, () => this.#onAlarm())
    this.#commits = new Commits(
      state,
      log,
      (durableLsn) => this.#onDurable(durableLsn),
      (error) => this.#fail(error),
    )
    const writer = {
      write: (record: LogRecord, keys: LockedKeys) => this.#write(record, 'high', keys),
      isLocked: (taskId: number) => this.#commits.tasks.isLocked(taskId),
    }
    this.#timekeeper = new Timekeeper(parts, writer, this.#alarm)
  }

  /** Number of records that are not yet durable. */
  get recordsInFlight(): number {
    return this.#commits.size
  }

  get waitingPolls(): number {
    return this.#polls.size
  }

  /**
   * 000 §6: writes what became due while no coordinator ran. Resolves when every lease that has expired
   * by now is recorded as expired; call `handle` only after that. A lease that expires meanwhile is kept: its
   * worker may still send a heartbeat once requests are served.
   */
  async start(): Promise<void> {
    const timekeeper = this.#timekeeper
    const startedAt = this.#parts.time.now()
    while (timekeeper.expireDue(startedAt, true).length > 0) await this.#commits.idle()
    if (timekeeper.isExpiryDue(startedAt)) {
      const message = 'the disk has no space to record expired leases; free some space and restart'
      throw new CoordinatorError('COORDINATOR_FAILED', message)
    }
    timekeeper.stopPoisonAtStart()
    await this.#commits.idle()
    // The alarm must not run earlier: it would not mark leases that expired before startup as such.
    this.#hasStarted = true
    timekeeper.arm()
    timekeeper.forget()
  }

  /** Returns whether the request is already answered. If not, `respond` is called later. */
  handle(
    request: Request | MalformedRequest,
    session: Session,
    respond: (answer: Answer) => void,
  ): 'answered' | 'pending' {
    const pending = new PendingRequest(this.#parts, request, session, respond)
    this.#parts.registry.heard(session.name, pending.arrivedAt)
    if (request.kind === 'lease') this.#noteRequestedQueues(request, pending)
    if (!pending.isQuery()) this.#queries.noteWork(pending.arrivedMs)
    this.#consider(pending)
    this.#offerNoted()
    return pending.isAnswered ? 'answered' : 'pending'
  }

  /** Registers the connection as a worker with up to `capacity` tasks; 0 means no stated capacity. */
  join(session: Session, capacity: number): void {
    const { registry, time } = this.#parts
    this.#workers.add(session)
    registry.connected(session.name, capacity, time.now())
    this.#offerNoted()
  }

  /** Removes a closed connection with its waiting polls and queries. In-flight records continue. */
  leave(session: Session): void {
    this.#closedSessions.add(session)
    for (const poll of this.#polls.of(session)) this.#endPoll(poll)
    if (this.#workers.delete(session)) this.#parts.registry.disconnected(session.name)
    this.#queries.leave(session)
  }

  /** Forgets ended tasks that are past their retention. Call it regularly. */
  tidy(): void {
    if (!this.#isStopping) this.#timekeeper.forget()
  }

  /** Answers waiting polls, rejects new requests, and resolves when no record is in flight. */
  async stop(): Promise<void> {
    this.#endService()
    for (const poll of this.#polls.all()) this.#answerEmpty(poll)
    this.#queries.finish()
    await this.#commits.idle()
  }

  #consider(pending: PendingRequest): void {
    const { request } = pending
    if (this.#isStopping) {
      pending.answer(rejected(request.id, 'STOPPING'))
      return
    }
    switch (request.kind) {
      case 'submit':
        this.#considerSubmit(pending, request)
        break
      case 'lease':
        this.#considerLease(pending, request)
        break
      case 'withdraw':
        this.#withdraw(pending, request.of)
        break
      case 'heartbeat':
      case 'complete':
      case 'fail':
      case 'kill':
        this.#considerTask(pending, request)
        break
      case 'checkpoint':
        answerCheckpoint(request, this.#parts.checkpoint)
          .then((answer) => pending.answer(answer))
          .catch((error: unknown) => this.#fail(error))
        break
      case 'ping':
        pending.answer({ kind: 'pong', id: request.id })
        break
      case 'malformed':
        pending.answer(rejected(request.id, 'MALFORMED', request.message))
        break
      default:
        if (pending.isQuery()) this.#queries.add(pending)
    }
  }

  #considerSubmit(pending: PendingRequest, request: Submit): void {
    const { requestId } = request
    if (requestId !== undefined && this.#commits.requestIds.isLocked(requestId)) {
      this.#commits.requestIds.wait(requestId, pending)
      return
    }
    if (requestId !== undefined && this.#timekeeper.isIdBeingForgotten(requestId)) {
      this.#waitingForForget.push(pending)
      return
    }
    const decision = decideSubmit(this.#context(), request)
    this.#carryOut(pending, decision, 'low', requestId === undefined ? {} : { requestId })
  }

  #considerTask(pending: PendingRequest, request: Heartbeat | Complete | Fail | Kill): void {
    const { taskId } = request
    const { tasks } = this.#commits
    if (tasks.isLocked(taskId)) {
      tasks.wait(taskId, pending)
      return
    }
    if (this.#timekeeper.isBeingForgotten(taskId)) {
      this.#waitingForForget.push(pending)
      return
    }
    const decision = this.#decideAboutTask(request, pending)
    if (decision.kind !== 'expire first') {
      this.#carryOut(pending, decision, 'high', { taskId })
    } else if (this.#timekeeper.expire(taskId, false)) {
      tasks.wait(taskId, pending)
    } else {
      // An answer about the lease needs a durable expiry, and there is no space to write it.
      pending.answer(rejectedForNow(request.id, 'NO_SPACE', noSpaceRetryMs))
    }
  }

  #decideAboutTask(request: Heartbeat | Complete | Fail | Kill, caller: Caller): Decision {
    const context = this.#context()
    switch (request.kind) {
      case 'heartbeat':
        this.#noteHeartbeat(request, caller, context.now)
        return decideHeartbeat(context, request, caller)
      case 'kill':
        return decideKill(context, request)
      default:
        return decideReport(context, request, caller)
    }
  }

  #considerLease(pending: PendingRequest, request: Lease): void {
    const [expiring] = this.#timekeeper.expireDue()
    const advice = this.#parts.registry.advice(pending.name)
    const decision = decideLease(this.#context(), request, pending, advice)
    if (decision?.kind === 'record' && decision.record.type === 'LeaseGranted') {
      this.#carryOut(pending, decision, 'normal', { taskId: decision.record.taskId })
    } else if (request.waitMs === 0) {
      // The task whose lease expires now may be in a requested queue.
      if (expiring !== undefined) this.#commits.tasks.wait(expiring, pending)
      else pending.answer({ kind: 'empty', id: request.id })
    } else if (this.#polls.size >= (this.#parts.waitingPollsMax ?? Number.POSITIVE_INFINITY)) {
      const message = 'too many lease requests wait on all connections (waitingPollsMax)'
      pending.answer(rejectedForNow(request.id, 'TOO_MANY', tooManyRetryMs, message))
    } else {
      this.#wait(pending, request, rankOf(advice) !== noCapacity)
    }
  }

  #wait(pending: PendingRequest, request: Lease, forTask: boolean): void {
    const { clock, knobs, state, time } = this.#parts
    const waitedMs = time.now() - pending.arrivedAt
    const waitMs = Math.max(0, Math.min(request.waitMs, knobs.waitMsMax) - waitedMs)
    const timer = clock.setTimer(waitMs, () => this.#answerEmpty(poll))
    const queues = [...new Set(request.queues)]
    const { session } = pending
    const poll: WaitingPoll = { queues, session, id: request.id, pending, request, timer }
    this.#polls.add(poll)
    // A worker without capacity waits for one of its leases to end, so no alarm can help it.
    if (forTask) for (const queue of queues) this.#alarm.setFor(nextEligibleAt(state, queue))
  }

  #answerEmpty(poll: WaitingPoll): void {
    if (this.#endPoll(poll)) poll.pending.answer({ kind: 'empty', id: poll.request.id })
  }

  #endPoll(poll: WaitingPoll): boolean {
    poll.timer.cancel()
    return this.#polls.remove(poll)
  }

  #withdraw(pending: PendingRequest, of: number): void {
    const poll = this.#polls.find(pending.session, of)
    if (poll !== undefined) this.#answerEmpty(poll)
    pending.answer({ kind: 'withdrawn', id: pending.request.id })
  }

  #offerNoted(): void {
    // Fast path: this runs after every request, and the set is usually empty.
    if (this.#queuesToOffer.size === 0) return
    // A queue that is added during the loop is visited again.
    for (const queue of this.#queuesToOffer) {
      this.#queuesToOffer.delete(queue)
      this.#offer(queue)
    }
  }

  /** Offers the queue's eligible tasks to waiting workers with capacity. */
  #offer(queue: string): void {
    const { state, time } = this.#parts
    while (this.#polls.has(queue)) {
      const eligibleAt = nextEligibleAt(state, queue)
      if (eligibleAt === undefined || eligibleAt > time.now()) {
        this.#alarm.setFor(eligibleAt)
        return
      }
      const poll = this.#polls.next(queue)
      if (poll === undefined) return
      this.#endPoll(poll)
      this.#considerLease(poll.pending, poll.request)
    }
  }

  #context(): DecisionContext {
    const { state, knobs, time, log } = this.#parts
    return { state, knobs, now: time.now(), nextLsn: log.nextLsn, submissions: this.#submissions }
  }

  #carryOut(pending: PendingRequest, decision: Decision, urgency: Urgency, keys: LockedKeys): void {
    if (decision.kind === 'expire first') throw new Error('the expiry must be recorded first')
    if (decision.kind === 'answer') {
      pending.answer(decision.answer)
      return
    }
    const { record, answer } = decision
    if (this.#write(record, urgency, keys, { to: pending, answer })) return
    pending.answer(rejectedForNow(pending.request.id, 'NO_SPACE', noSpaceRetryMs))
  }

  /** The only path to the log. False when the disk has no space for the record. */
  #write(record: LogRecord, urgency: Urgency, keys: LockedKeys, reply?: Reply): boolean {
    if (!this.#commits.write(record, urgency, keys, reply)) return false
    this.#countSubmission(record, 1)
    this.#parts.registry.decided(record, this.#parts.state)
    return true
  }

  #countSubmission(record: LogRecord, change: 1 | -1): void {
    if (record.type !== 'TaskCreated') return
    this.#submissions.count += change
    this.#submissions.bytes += change * record.payload.length
  }

  /**
   * Handles a durable batch: applies and answers its records in order. Then decides what is due because of
   * them, and then the requests that waited for them.
   */
  #onDurable(durableLsn: number): void {
    const { state } = this.#parts
    const waited: PendingRequest[] = []
    for (const { record, reply, freed } of this.#commits.applyDurable(durableLsn)) {
      this.#noteApplied(record)
      reply?.to.answerDurable(reply.answer(state))
      for (const pending of freed) waited.push(pending)
    }
    const timekeeper = this.#timekeeper
    if (!this.#isStopping) timekeeper.stopPoison()
    if (!timekeeper.isForgetting) waited.push(...this.#waitingForForget.splice(0))
    for (const pending of waited) if (!this.#isAbandoned(pending)) this.#consider(pending)
    this.#offerNoted()
    if (this.#isStopping || !this.#hasStarted) return
    timekeeper.arm()
    timekeeper.forgetSurplus()
  }

  /** A task granted to a closed connection would sit idle until its lease expired. */
  #isAbandoned({ request, session }: PendingRequest): boolean {
    return request.kind === 'lease' && this.#closedSessions.has(session)
  }

  #onAlarm(): void {
    if (this.#isStopping || !this.#hasStarted) return
    this.#timekeeper.expireDue()
    this.#timekeeper.stopPoison()
    for (const queue of this.#polls.queues()) this.#offer(queue)
    this.#timekeeper.arm()
  }

  #noteRequestedQueues({ queues }: Lease, { name, arrivedAt }: Caller): void {
    this.#requestedQueues.note(queues, arrivedAt)
    this.#parts.registry.asked(name, queues)
  }

  #noteHeartbeat({ leaseId }: Heartbeat, { name }: Caller, now: number): void {
    const { state, registry, observer } = this.#parts
    const lease = getLease(state, leaseId)
    if (lease?.workerId !== name) return
    registry.holds(name, leaseId)
    observer.leaseMargin?.(lease.leaseExpiry - now)
  }

  /** When a worker has capacity again, its waiting polls are considered again. */
  #noteAdvice(name: string): void {
    for (const queue of this.#polls.reconsider(name)) this.#queuesToOffer.add(queue)
  }

  #noteApplied(record: LogRecord): void {
    const { state, observer } = this.#parts
    observer.applied?.(record)
    switch (record.type) {
      case 'TaskCreated':
        this.#countSubmission(record, -1)
        this.#queuesToOffer.add(record.queue ?? defaultQueue)
        break
      case 'LeaseExpired':
        this.#timekeeper.noteExpired(record.taskId)
        this.#queuesToOffer.add(getQueue(state, record.taskId)!)
        break
      // A WAITING task is not offered while its TaskCancelled is in flight.
      case 'TaskCancelled':
      case 'TaskFailed':
        this.#queuesToOffer.add(getQueue(state, record.taskId)!)
        break
      case 'TasksForgotten':
        this.#timekeeper.noteForgotten()
        break
      default:
    }
  }

  #fail(error: unknown): void {
    if (this.#hasFailed) return
    this.#hasFailed = true
    this.#endService()
    this.#parts.onFailure(error)
  }

  #endService(): void {
    this.#isStopping = true
    this.#queries.stop()
    this.#alarm.cancel()
  }
}

interface WaitingPoll extends Poll {
  readonly pending: PendingRequest
  readonly request: Lease
  readonly timer: Timer
}
