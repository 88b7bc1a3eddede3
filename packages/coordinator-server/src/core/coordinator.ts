import type {
  Answer,
  Complete,
  Fail,
  Heartbeat,
  History,
  Kill,
  Lease,
  MalformedRequest,
  Request,
  Submit,
} from '@tenure/protocol'
import type { Timer } from '@tenure/seams'
import {
  defaultQueue,
  findByRequestId,
  getCurrentLeaseId,
  getLease,
  getLeaseIds,
  getQueue,
  type LogRecord,
  nextEligibleAt,
} from '@tenure/state-machine'
import type { Asker, Circumstances, Decision } from '../decide/decision.js'
import { decideHeartbeat, decideLease, noRoom, rankOf } from '../decide/lease-manager.js'
import { decideKill, decideReport, decideSubmit } from '../decide/task-manager.js'
import { CoordinatorError } from '../errors.js'
import type { HistoryQuery } from '../history/history-reader.js'
import { QueuesAsked } from '../polls/queues-asked.js'
import { type Poll, WaitingPolls } from '../polls/waiting-polls.js'
import { Histories } from '../questions/histories.js'
import { QuestionQueue } from '../questions/question-queue.js'
import { pageBytes, type QuestionSources } from '../questions/question-sources.js'
import { answerQuestion, isQuestion, type Question } from '../questions/questions.js'
import { notNow, rejected, tooManyRetryMs } from '../refusals.js'
import { Alarm } from './alarm.js'
import { answerCheckpoint } from './answer-checkpoint.js'
import { Commits, type Holds, type Urgency } from './commits.js'
import type { CoordinatorParts } from './parts.js'
import { noSpaceRetryMs, Timekeeper } from './timekeeper.js'

/** One who asks: a connection, by the name it gave. */
export interface Session {
  readonly name: string
}

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
  readonly #commits: Commits<Asked>
  readonly #polls: WaitingPolls<WaitingPoll>
  readonly #questions: QuestionQueue<Asked & { readonly request: Question }>
  readonly #queuesAsked = new QueuesAsked()
  readonly #sources: QuestionSources
  readonly #histories: Histories
  readonly #alarm: Alarm
  readonly #timekeeper: Timekeeper
  /** Requests about tasks that are on their way out. */
  readonly #askedAboutForgotten: Asked[] = []
  /** Queues in which a task has become eligible, or a waiting worker has room again. */
  readonly #queuesToOffer = new Set<string>()
  /** Submissions on their way to the disk. */
  readonly #submissions = { count: 0, bytes: 0 }
  /** When a request came last that is no question, on the monotonic clock. */
  #workedAtMs = Number.NEGATIVE_INFINITY
  /** Connections that take tasks. */
  readonly #workers = new WeakSet<Session>()
  /** Who has left while a request of theirs waited for its turn. */
  readonly #gone = new WeakSet<Session>()
  #hasStarted = false
  #isStopping = false
  #hasFailed = false

  constructor(parts: CoordinatorParts) {
    this.#parts = parts
    this.#polls = new WaitingPolls((name) => rankOf(parts.registry.advice(name)))
    parts.registry.watch((name) => this.#noteAdvice(name))
    this.#alarm = new Alarm(parts.clock, parts.time, () => this.#onAlarm())
    this.#commits = new Commits(parts.state, parts.log, {
      decided: (record) => this.#noteDecided(record),
      after: (record) => this.#noteApplied(record),
      settled: (freed) => this.#onSettled(freed),
      failed: (error) => this.#fail(error),
    })
    this.#timekeeper = new Timekeeper(parts, this.#commits, this.#alarm)
    this.#questions = new QuestionQueue(
      parts.clock,
      () => parts.clock.monotonicMs() - this.#workedAtMs < busyMs,
      (asked) => this.#answerQuestion(asked),
    )
    const noticed = { polls: this.#polls, queuesAsked: this.#queuesAsked }
    this.#sources = { ...parts, ...noticed, startedAt: parts.time.now() }
    this.#histories = new Histories(parts.history, (request) => this.#historyQuery(request))
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

  handle(
    request: Request | MalformedRequest,
    session: Session,
    respond: (answer: Answer) => void,
  ): void {
    const { time, clock, registry } = this.#parts
    const arrivedMs = clock.monotonicMs()
    const arrivedAt = time.at(arrivedMs)
    registry.heard(session.name, arrivedAt)
    if (request.kind === 'lease') this.#noteAsked(request, session, arrivedAt)
    const asker = { name: session.name, arrivedAt }
    if (!isQuestion(request)) this.#workedAtMs = arrivedMs
    this.#consider({ request, session, asker, arrivedMs, respond })
    this.#offerNoted()
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
    this.#histories.leave(session)
  }

  /** To be called from time to time: lets go of what has been kept long enough. */
  tidy(): void {
    if (!this.#isStopping) this.#timekeeper.forget()
  }

  /** Answers waiting polls, refuses what is new, and settles when nothing is on its way any more. */
  async stop(): Promise<void> {
    this.#isStopping = true
    this.#alarm.cancel()
    for (const poll of this.#polls.all()) this.#giveUp(poll)
    this.#questions.finish()
    this.#histories.finish()
    await this.#commits.idle()
  }

  #consider(asked: Asked): void {
    const { request } = asked
    if (this.#isStopping) {
      this.#answer(asked, rejected(request.id, 'STOPPING'))
      return
    }
    switch (request.kind) {
      case 'malformed':
        this.#answer(asked, rejected(request.id, 'MALFORMED', request.message))
        break
      case 'submit':
        this.#considerSubmit(asked, request)
        break
      case 'lease':
        this.#considerLease(asked, request)
        break
      case 'withdraw':
        this.#withdraw(asked, request.of)
        break
      case 'heartbeat':
      case 'complete':
      case 'fail':
      case 'kill':
        this.#considerTask(asked, request)
        break
      case 'ping':
        this.#answer(asked, { kind: 'pong', id: request.id })
        break
      case 'checkpoint':
        answerCheckpoint(request, this.#parts.checkpoint)
          .then((answer) => this.#answer(asked, answer))
          .catch((error: unknown) => this.#fail(error))
        break
      default:
        this.#questions.add(asked.session, { ...asked, request })
    }
  }

  #answerQuestion(asked: Asked & { readonly request: Question }): void {
    const { request } = asked
    if (this.#isStopping) {
      this.#answer(asked, rejected(request.id, 'STOPPING'))
    } else if (request.kind === 'history') {
      this.#histories.add(asked.session, request, (answer) => this.#answer(asked, answer))
    } else {
      this.#answer(asked, answerQuestion(request, this.#sources))
    }
  }

  /** Up to what is durable now, with the leases that the task is remembered to have had. */
  #historyQuery({ kind, id, ...place }: History): HistoryQuery {
    const { state, log } = this.#parts
    const leaseIds = getLeaseIds(state, place.taskId)
    return { ...place, leaseIds, throughLsn: log.durableLsn, bytesMax: pageBytes(this.#parts) }
  }

  #considerSubmit(asked: Asked, request: Submit): void {
    const { requestId } = request
    if (requestId !== undefined && this.#commits.requestIds.isHeld(requestId)) {
      this.#commits.requestIds.wait(requestId, asked)
      return
    }
    if (requestId !== undefined && this.#isBeingForgotten(requestId)) {
      this.#askedAboutForgotten.push(asked)
      return
    }
    const decision = decideSubmit(this.#circumstances(), request)
    this.#carryOut(asked, decision, 'low', requestId === undefined ? {} : { requestId })
  }

  #isBeingForgotten(requestId: string): boolean {
    // Nearly never: to look for the id costs as much as the rest of the decision.
    if (!this.#timekeeper.isForgetting) return false
    const known = findByRequestId(this.#parts.state, requestId)
    return known !== undefined && this.#timekeeper.isBeingForgotten(known)
  }

  #considerTask(asked: Asked, request: Heartbeat | Complete | Fail | Kill): void {
    const { taskId } = request
    const { tasks } = this.#commits
    if (tasks.isHeld(taskId)) {
      tasks.wait(taskId, asked)
      return
    }
    if (this.#timekeeper.isBeingForgotten(taskId)) {
      this.#askedAboutForgotten.push(asked)
      return
    }
    const decision = this.#decideAboutTask(request, asked.asker)
    if (decision.kind !== 'expire first') {
      this.#carryOut(asked, decision, 'high', { taskId })
    } else if (this.#timekeeper.expire(taskId, false)) {
      tasks.wait(taskId, asked)
    } else {
      // Without room for the expiry no answer about the lease would have a record behind it.
      this.#answer(asked, notNow(request.id, 'NO_SPACE', noSpaceRetryMs))
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

  #considerLease(asked: Asked, request: Lease): void {
    const [expiring] = this.#timekeeper.expireDue()
    const advice = this.#parts.registry.advice(asked.session.name)
    const decision = decideLease(this.#circumstances(), request, asked.asker, advice)
    if (decision?.kind === 'record' && decision.record.type === 'LeaseGranted') {
      this.#carryOut(asked, decision, 'normal', { taskId: decision.record.taskId })
    } else if (request.waitMs === 0) {
      // What expires now may be what is asked for.
      if (expiring !== undefined) this.#commits.tasks.wait(expiring, asked)
      else this.#answer(asked, { kind: 'empty', id: request.id })
    } else if (this.#polls.size >= (this.#parts.waitingPollsMax ?? Number.POSITIVE_INFINITY)) {
      this.#answer(asked, notNow(request.id, 'TOO_MANY', tooManyRetryMs))
    } else {
      this.#wait(asked, request, rankOf(advice) !== noRoom)
    }
  }

  #wait(asked: Asked, request: Lease, forTask: boolean): void {
    const { clock, knobs, state } = this.#parts
    const { session, asker } = asked
    const waitedMs = this.#parts.time.now() - asker.arrivedAt
    const waitMs = Math.max(0, Math.min(request.waitMs, knobs.waitMsMax) - waitedMs)
    const timer = clock.setTimer(waitMs, () => this.#giveUp(poll))
    const queues = [...new Set(request.queues)]
    const poll: WaitingPoll = { queues, session, id: request.id, asked, request, timer }
    this.#polls.add(poll)
    // A full worker waits for the end of a lease. Tasks may be eligible now, so an alarm would ring in vain.
    if (forTask) for (const queue of queues) this.#alarm.setFor(nextEligibleAt(state, queue))
  }

  #giveUp(poll: WaitingPoll): void {
    if (this.#endPoll(poll)) this.#answer(poll.asked, { kind: 'empty', id: poll.request.id })
  }

  #endPoll(poll: WaitingPoll): boolean {
    poll.timer.cancel()
    return this.#polls.remove(poll)
  }

  #withdraw(asked: Asked, of: number): void {
    const poll = this.#polls.find(asked.session, of)
    if (poll !== undefined) this.#giveUp(poll)
    this.#answer(asked, { kind: 'withdrawn', id: asked.request.id })
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
      this.#considerLease(poll.asked, poll.request)
    }
  }

  #circumstances(): Circumstances {
    const { state, knobs, time, log } = this.#parts
    return { state, knobs, now: time.now(), nextLsn: log.nextLsn, submissions: this.#submissions }
  }

  #carryOut(asked: Asked, decision: Decision, urgency: Urgency, holds: Holds): void {
    if (decision.kind === 'expire first') throw new Error('the expiry has to be decided first')
    if (decision.kind === 'answer') {
      this.#answer(asked, decision.answer)
      return
    }
    const { record, answer } = decision
    const onApplied = () => this.#answer(asked, answer(this.#parts.state))
    if (this.#commits.write(record, urgency, holds, onApplied)) {
      this.#countSubmission(record, 1)
      return
    }
    this.#answer(asked, notNow(asked.request.id, 'NO_SPACE', noSpaceRetryMs))
  }

  #countSubmission(record: LogRecord, change: 1 | -1): void {
    if (record.type !== 'TaskCreated') return
    this.#submissions.count += change
    this.#submissions.bytes += change * record.payload.length
  }

  /** A batch has been applied: what follows from it, and those who waited for it. */
  #onSettled(freed: readonly Asked[]): void {
    const timekeeper = this.#timekeeper
    if (!this.#isStopping) timekeeper.stopPoison()
    const forgotten = timekeeper.isForgetting ? [] : this.#askedAboutForgotten.splice(0)
    for (const asked of freed) if (!this.#isInVain(asked)) this.#consider(asked)
    for (const asked of forgotten) this.#consider(asked)
    this.#offerNoted()
    if (this.#isStopping || !this.#hasStarted) return
    timekeeper.arm()
    timekeeper.forgetSurplus()
  }

  /** A task that were granted to somebody who has left would be nobody's for a whole lease. */
  #isInVain({ request, session }: Asked): boolean {
    return request.kind === 'lease' && this.#gone.has(session)
  }

  #onAlarm(): void {
    if (this.#isStopping || !this.#hasStarted) return
    this.#timekeeper.expireDue()
    this.#timekeeper.stopPoison()
    for (const queue of this.#polls.queues()) this.#offer(queue)
    this.#timekeeper.arm()
  }

  #noteAsked({ queues }: Lease, { name }: Session, now: number): void {
    this.#queuesAsked.note(queues, now)
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

  /**
   * Capacity counts what is decided, not what is applied: a report makes room for a lease request in
   * the same batch, and two grants in one batch count as two.
   */
  #noteDecided(record: LogRecord): void {
    const { state, registry } = this.#parts
    switch (record.type) {
      case 'LeaseGranted':
        registry.holds(record.workerId, record.leaseId)
        break
      case 'LeaseExpired':
      case 'TaskCompleted':
      case 'TaskFailed':
        registry.ended(record.leaseId)
        break
      case 'TaskDead': {
        const leaseId = getCurrentLeaseId(state, record.taskId)
        if (leaseId !== undefined) registry.ended(leaseId)
        break
      }
      default:
    }
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

  #answer(asked: Asked, answer: Answer): void {
    const { observer, clock } = this.#parts
    observer.answered?.(asked.request.kind, answer, clock.monotonicMs() - asked.arrivedMs)
    asked.respond(answer)
  }

  #fail(error: unknown): void {
    if (this.#hasFailed) return
    this.#hasFailed = true
    this.#isStopping = true
    this.#alarm.cancel()
    this.#parts.onFailure(error)
  }
}

/** Where requests come one after the other, the next one comes sooner than this. */
const busyMs = 10

/** A request on its way through the loop. */
interface Asked {
  readonly request: Request | MalformedRequest
  readonly session: Session
  readonly asker: Asker
  /** On the monotonic clock, for the time that it took. */
  readonly arrivedMs: number
  readonly respond: (answer: Answer) => void
}

interface WaitingPoll extends Poll {
  readonly asked: Asked
  readonly request: Lease
  readonly timer: Timer
}
