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
import type { Asker, Circumstances, Decision } from '../decide/decision.js'
import { decideHeartbeat, decideLease, noRoom, rankOf } from '../decide/lease-manager.js'
import { decideKill, decideReport, decideSubmit } from '../decide/task-manager.js'
import { CoordinatorError } from '../errors.js'
import { QueuesAsked } from '../polls/queues-asked.js'
import { type Poll, WaitingPolls } from '../polls/waiting-polls.js'
import { AskedQuestions } from '../questions/asked-questions.js'
import { notNow, rejected, tooManyRetryMs } from '../refusals.js'
import { Alarm } from './alarm.js'
import { Commits, type Holds, type Reply, type Urgency } from './commits.js'
import type { CoordinatorParts } from './coordinator-parts.js'
import { PendingRequest, type Session } from './pending-request.js'
import { noSpaceRetryMs, Timekeeper } from './timekeeper.js'

/**
 * The core loop (001 §7), the only place where order is made:
 *
 *     request → decide → append → durable → apply → answer
 *
 * A task with a record on its way is locked: who asks about it waits, and is decided about anew when
 * the record has been applied. So every decision reads applied state, and nothing that was answered
 * can be lost.
 */
export class Coordinator {
  readonly #parts: CoordinatorParts
  readonly #commits: Commits
  readonly #polls: WaitingPolls<WaitingPoll>
  readonly #queuesAsked = new QueuesAsked()
  readonly #questions: AskedQuestions
  readonly #alarm: Alarm
  readonly #timekeeper: Timekeeper
  /** Requests about tasks that are on their way out. */
  readonly #askedAboutForgotten: PendingRequest[] = []
  /** Queues in which a task has become eligible, or a waiting worker has room again. */
  readonly #queuesToOffer = new Set<string>()
  /** Submissions on their way to the disk. */
  readonly #submissions = { count: 0, bytes: 0 }
  /** Connections that take tasks. */
  readonly #workers = new WeakSet<Session>()
  /** Who has left while a request of theirs waited for its turn. */
  readonly #gone = new WeakSet<Session>()
  #hasStarted = false
  #isStopping = false
  #hasFailed = false

  constructor(parts: CoordinatorParts) {
    const { state, log, clock, time, registry } = parts
    this.#parts = parts
    this.#polls = new WaitingPolls((name) => rankOf(registry.advice(name)))
    registry.watch((name) => this.#noteAdvice(name))
    const seen = { polls: this.#polls, queuesAsked: this.#queuesAsked, startedAt: time.now() }
    this.#questions = new AskedQuestions({ ...parts, ...seen }, parts)
    this.#alarm = new Alarm(clock, time, () => this.#onAlarm())
    this.#commits = new Commits(
      state,
      log,
      (durableLsn) => this.#onDurable(durableLsn),
      (error) => this.#fail(error),
    )
    const writer = {
      write: (record: LogRecord, holds: Holds) => this.#write(record, 'high', holds),
      isLocked: (taskId: number) => this.#commits.tasks.isHeld(taskId),
    }
    this.#timekeeper = new Timekeeper(parts, writer, this.#alarm)
  }

  /** How many records are on their way to the disk. */
  get recordsOnTheirWay(): number {
    return this.#commits.size
  }

  get waitingPolls(): number {
    return this.#polls.size
  }

  /**
   * 000 §6: what time decided while nobody was there. Settles when every lease whose time is over now
   * has been expired; before that no request may be handled. Those that end meanwhile are nobody's loss
   * yet: their owners may send a heartbeat as soon as they are heard.
   */
  async start(): Promise<void> {
    const timekeeper = this.#timekeeper
    const startedAt = this.#parts.time.now()
    while (timekeeper.expireDue(startedAt, true).length > 0) await this.#commits.idle()
    if (timekeeper.isExpiryDue(startedAt)) {
      const message =
        'the disk has no room to write down that leases have expired: make room and start again'
      throw new CoordinatorError('COORDINATOR_FAILED', message)
    }
    timekeeper.stopPoisonAtStart()
    await this.#commits.idle()
    // Not before: the alarm would expire what was due at the start as if somebody had been there.
    this.#hasStarted = true
    timekeeper.arm()
    timekeeper.forget()
  }

  /** Says whether the request has its answer already. If not, `respond` is called later. */
  handle(
    request: Request | MalformedRequest,
    session: Session,
    respond: (answer: Answer) => void,
  ): 'answered' | 'pending' {
    const pending = new PendingRequest(this.#parts, request, session, respond)
    this.#parts.registry.heard(session.name, pending.arrivedAt)
    if (request.kind === 'lease') this.#noteAsked(request, pending)
    if (!pending.isQuestion()) this.#questions.noteWork(pending.arrivedMs)
    this.#consider(pending)
    this.#offerNoted()
    return pending.isAnswered ? 'answered' : 'pending'
  }

  /** The connection takes tasks, at most `capacity` at once; 0 states no capacity. */
  join(session: Session, capacity: number): void {
    const { registry, time } = this.#parts
    this.#workers.add(session)
    registry.connected(session.name, capacity, time.now())
    this.#offerNoted()
  }

  /** The connection has ended, and its waiting polls and questions with it. What is on its way goes its way. */
  leave(session: Session): void {
    this.#gone.add(session)
    for (const poll of this.#polls.of(session)) this.#endPoll(poll)
    if (this.#workers.delete(session)) this.#parts.registry.disconnected(session.name)
    this.#questions.leave(session)
  }

  /** To be called from time to time: lets go of what has been kept long enough. */
  tidy(): void {
    if (!this.#isStopping) this.#timekeeper.forget()
  }

  /** Answers waiting polls, refuses what is new, and settles when nothing is on its way any more. */
  async stop(): Promise<void> {
    this.#endService()
    for (const poll of this.#polls.all()) this.#giveUp(poll)
    this.#questions.finish()
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
        if (pending.isQuestion()) this.#questions.add(pending)
    }
  }

  #considerSubmit(pending: PendingRequest, request: Submit): void {
    const { requestId } = request
    if (requestId !== undefined && this.#commits.requestIds.isHeld(requestId)) {
      this.#commits.requestIds.wait(requestId, pending)
      return
    }
    if (requestId !== undefined && this.#timekeeper.isIdBeingForgotten(requestId)) {
      this.#askedAboutForgotten.push(pending)
      return
    }
    const decision = decideSubmit(this.#circumstances(), request)
    this.#carryOut(pending, decision, 'low', requestId === undefined ? {} : { requestId })
  }

  #considerTask(pending: PendingRequest, request: Heartbeat | Complete | Fail | Kill): void {
    const { taskId } = request
    const { tasks } = this.#commits
    if (tasks.isHeld(taskId)) {
      tasks.wait(taskId, pending)
      return
    }
    if (this.#timekeeper.isBeingForgotten(taskId)) {
      this.#askedAboutForgotten.push(pending)
      return
    }
    const decision = this.#decideAboutTask(request, pending)
    if (decision.kind !== 'expire first') {
      this.#carryOut(pending, decision, 'high', { taskId })
    } else if (this.#timekeeper.expire(taskId, false)) {
      tasks.wait(taskId, pending)
    } else {
      // Without room for the expiry no answer about the lease would have a record behind it.
      pending.answer(notNow(request.id, 'NO_SPACE', noSpaceRetryMs))
    }
  }

  #decideAboutTask(request: Heartbeat | Complete | Fail | Kill, asker: Asker): Decision {
    const circumstances = this.#circumstances()
    switch (request.kind) {
      case 'heartbeat':
        this.#noteHeartbeat(request, asker, circumstances.now)
        return decideHeartbeat(circumstances, request, asker)
      case 'kill':
        return decideKill(circumstances, request)
      default:
        return decideReport(circumstances, request, asker)
    }
  }

  #considerLease(pending: PendingRequest, request: Lease): void {
    const [expiring] = this.#timekeeper.expireDue()
    const advice = this.#parts.registry.advice(pending.name)
    const decision = decideLease(this.#circumstances(), request, pending, advice)
    if (decision?.kind === 'record' && decision.record.type === 'LeaseGranted') {
      this.#carryOut(pending, decision, 'normal', { taskId: decision.record.taskId })
    } else if (request.waitMs === 0) {
      // What expires now may be what is asked for.
      if (expiring !== undefined) this.#commits.tasks.wait(expiring, pending)
      else pending.answer({ kind: 'empty', id: request.id })
    } else if (this.#polls.size >= (this.#parts.waitingPollsMax ?? Number.POSITIVE_INFINITY)) {
      pending.answer(notNow(request.id, 'TOO_MANY', tooManyRetryMs))
    } else {
      this.#wait(pending, request, rankOf(advice) !== noRoom)
    }
  }

  #wait(pending: PendingRequest, request: Lease, forTask: boolean): void {
    const { clock, knobs, state, time } = this.#parts
    const waitedMs = time.now() - pending.arrivedAt
    const waitMs = Math.max(0, Math.min(request.waitMs, knobs.waitMsMax) - waitedMs)
    const timer = clock.setTimer(waitMs, () => this.#giveUp(poll))
    const queues = [...new Set(request.queues)]
    const { session } = pending
    const poll: WaitingPoll = { queues, session, id: request.id, pending, request, timer }
    this.#polls.add(poll)
    // A full worker waits for the end of a lease. Tasks may be eligible now, so an alarm would ring in vain.
    if (forTask) for (const queue of queues) this.#alarm.setFor(nextEligibleAt(state, queue))
  }

  #giveUp(poll: WaitingPoll): void {
    if (this.#endPoll(poll)) poll.pending.answer({ kind: 'empty', id: poll.request.id })
  }

  #endPoll(poll: WaitingPoll): boolean {
    poll.timer.cancel()
    return this.#polls.remove(poll)
  }

  #withdraw(pending: PendingRequest, of: number): void {
    const poll = this.#polls.find(pending.session, of)
    if (poll !== undefined) this.#giveUp(poll)
    pending.answer({ kind: 'withdrawn', id: pending.request.id })
  }

  #offerNoted(): void {
    // Checked after each request, and nearly always so.
    if (this.#queuesToOffer.size === 0) return
    // A queue that is noted again meanwhile comes again.
    for (const queue of this.#queuesToOffer) {
      this.#queuesToOffer.delete(queue)
      this.#offer(queue)
    }
  }

  /** Offers the queue's eligible tasks to those who wait for them and have room. */
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

  #circumstances(): Circumstances {
    const { state, knobs, time, log } = this.#parts
    return { state, knobs, now: time.now(), nextLsn: log.nextLsn, submissions: this.#submissions }
  }

  #carryOut(pending: PendingRequest, decision: Decision, urgency: Urgency, holds: Holds): void {
    if (decision.kind === 'expire first') throw new Error('the expiry has to be decided first')
    if (decision.kind === 'answer') {
      pending.answer(decision.answer)
      return
    }
    const { record, answer } = decision
    if (this.#write(record, urgency, holds, { to: pending, answer })) return
    pending.answer(notNow(pending.request.id, 'NO_SPACE', noSpaceRetryMs))
  }

  /** Every record takes this way to the log. False when the disk has no room for it. */
  #write(record: LogRecord, urgency: Urgency, holds: Holds, reply?: Reply): boolean {
    if (!this.#commits.write(record, urgency, holds, reply)) return false
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
   * A batch is durable: its records are applied and answered, one after the other. Then time's decisions
   * that follow from them are made, then those about requests that waited for them.
   */
  #onDurable(durableLsn: number): void {
    const { state } = this.#parts
    const waited: PendingRequest[] = []
    for (const { record, reply, freed } of this.#commits.settle(durableLsn)) {
      this.#noteApplied(record)
      reply?.to.answer(reply.answer(state))
      for (const pending of freed) waited.push(pending)
    }
    const timekeeper = this.#timekeeper
    if (!this.#isStopping) timekeeper.stopPoison()
    if (!timekeeper.isForgetting) waited.push(...this.#askedAboutForgotten.splice(0))
    for (const pending of waited) if (!this.#isInVain(pending)) this.#consider(pending)
    this.#offerNoted()
    if (this.#isStopping || !this.#hasStarted) return
    timekeeper.arm()
    timekeeper.forgetSurplus()
  }

  /** A task that were granted to somebody who has left would be nobody's for a whole lease. */
  #isInVain({ request, session }: PendingRequest): boolean {
    return request.kind === 'lease' && this.#gone.has(session)
  }

  #onAlarm(): void {
    if (this.#isStopping || !this.#hasStarted) return
    this.#timekeeper.expireDue()
    this.#timekeeper.stopPoison()
    for (const queue of this.#polls.queues()) this.#offer(queue)
    this.#timekeeper.arm()
  }

  #noteAsked({ queues }: Lease, { name, arrivedAt }: Asker): void {
    this.#queuesAsked.note(queues, arrivedAt)
    this.#parts.registry.asked(name, queues)
  }

  #noteHeartbeat({ leaseId }: Heartbeat, { name }: Asker, now: number): void {
    const { state, registry, observer } = this.#parts
    const lease = getLease(state, leaseId)
    if (lease?.workerId !== name) return
    registry.holds(name, leaseId)
    observer.leaseMargin?.(lease.leaseExpiry - now)
  }

  /** When the worker has room again, its waiting polls are considered again. */
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
      // Nobody could be offered a WAITING task while its TaskCancelled was on its way.
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
    this.#questions.stop()
    this.#alarm.cancel()
  }
}

interface WaitingPoll extends Poll {
  readonly pending: PendingRequest
  readonly request: Lease
  readonly timer: Timer
}
