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
import {
  defaultQueue,
  expiredInARow,
  forgettableThrough,
  getLease,
  getSummary,
  type LogRecord,
  nextEligibleAt,
  nextExpiry,
} from '@tenure/state-machine'
import { Alarm } from './alarm.js'
import { Commits, type Holds, type Urgency } from './commits.js'
import type { Asker, Circumstances, Decision } from './decision.js'
import type { Timer } from './decision-time.js'
import { decideHeartbeat, decideLease } from './lease-manager.js'
import type { CoordinatorParts } from './parts.js'
import { answerQuestion } from './questions.js'
import { notNow, rejected } from './refusals.js'
import { decideKill, decideReport, decideSubmit } from './task-manager.js'
import { WaitingPolls } from './waiting-polls.js'

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
  readonly #polls = new WaitingPolls<WaitingPoll>()
  readonly #alarm: Alarm
  /** Not 0 while a TasksForgotten is on its way: tasks that ended up to there are on their way out. */
  #forgettingThrough = 0
  #askedAboutForgotten: Asked[] = []
  /** Of the batch that is being applied: queues in which a task may be eligible, tasks that expired. */
  readonly #queuesToOffer = new Set<string>()
  readonly #expiredTasks: number[] = []
  #isStopping = false

  constructor(parts: CoordinatorParts) {
    this.#parts = parts
    this.#alarm = new Alarm(parts.clock, parts.time, () => this.#onAlarm())
    this.#commits = new Commits(parts.state, parts.log, {
      before: (record) => this.#noteEndOfLease(record),
      after: (record) => this.#noteApplied(record),
      settled: (freed) => this.#onSettled(freed),
      failed: (error) => this.#fail(error),
    })
  }

  /** How many records are on their way to the disk. */
  get recordsOnTheirWay(): number {
    return this.#commits.size
  }

  get waitingPolls(): number {
    return this.#polls.size
  }

  /**
   * 000 §6: what time decided while nobody was there. Settles when every lease whose time is over
   * has been expired; before that no request may be handled.
   */
  async start(): Promise<void> {
    while (this.#expireDue(true) > 0) await this.#commits.idle()
    const { state, knobs } = this.#parts
    const times = Math.max(1, knobs.poisonThreshold)
    for (const taskId of expiredInARow(state, times)) this.#stopIfPoison(taskId)
    await this.#commits.idle()
    this.#alarm.setFor(nextExpiry(state)?.at)
    this.tidy()
  }

  handle(
    request: Request | MalformedRequest,
    session: Session,
    respond: (answer: Answer) => void,
  ): void {
    const now = this.#parts.time.now()
    this.#parts.registry.heard(session.name, now)
    this.#consider({ request, session, asker: { name: session.name, arrivedAt: now }, respond })
  }

  /** The connection has ended, and its waiting polls with it. What is on its way goes its way. */
  leave(session: Session): void {
    for (const poll of this.#polls.all()) {
      if (poll.asked.session === session) this.#endPoll(poll)
    }
  }

  /** `semantics` §11: lets go of tasks that ended long ago, a bounded number at once. */
  tidy(): void {
    const { state, knobs, time } = this.#parts
    if (this.#forgettingThrough > 0 || this.#isStopping) return
    const at = time.now()
    const endedUntil = at - knobs.retentionMs
    const through = forgettableThrough(state, {
      endedUntil,
      keep: knobs.retentionTasks,
      limit: tasksAtOnce,
    })
    if (through === undefined) return
    const written = this.#commits.write({ type: 'TasksForgotten', at, through }, 'high', {})
    if (written) this.#forgettingThrough = through
  }

  /** Answers waiting polls, refuses what is new, and settles when nothing is on its way any more. */
  async stop(): Promise<void> {
    this.#isStopping = true
    this.#alarm.cancel()
    for (const poll of this.#polls.all()) this.#giveUp(poll)
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
      default:
        this.#answer(asked, answerQuestion(request, this.#parts))
    }
  }

  #considerSubmit(asked: Asked, request: Submit): void {
    const { requestId } = request
    if (requestId !== undefined && this.#commits.requestIds.isHeld(requestId)) {
      this.#commits.requestIds.wait(requestId, asked)
      return
    }
    const decision = decideSubmit(this.#circumstances(), request)
    this.#carryOut(asked, decision, 'low', requestId === undefined ? {} : { requestId })
  }

  #considerTask(asked: Asked, request: Heartbeat | Complete | Fail | Kill): void {
    const { taskId } = request
    const { tasks } = this.#commits
    if (tasks.isHeld(taskId)) {
      tasks.wait(taskId, asked)
      return
    }
    if (this.#isBeingForgotten(taskId)) {
      this.#askedAboutForgotten.push(asked)
      return
    }
    const decision = this.#decideAboutTask(request, asked.asker)
    if (decision.kind !== 'expire first') {
      this.#carryOut(asked, decision, 'high', { taskId })
    } else if (this.#expire(taskId, false)) {
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
    const decision = decideLease(this.#circumstances(), request, asked.asker)
    if (decision?.kind === 'record' && decision.record.type === 'LeaseGranted') {
      this.#carryOut(asked, decision, 'normal', { taskId: decision.record.taskId })
    } else if (request.waitMs === 0) {
      this.#answer(asked, { kind: 'empty', id: request.id })
    } else {
      this.#wait(asked, request)
    }
  }

  #wait(asked: Asked, request: Lease): void {
    const { clock, knobs, state } = this.#parts
    const waitMs = Math.min(request.waitMs, knobs.waitMsMax)
    const timer = clock.setTimer(waitMs, () => this.#giveUp(poll))
    const { name } = asked.session
    const poll: WaitingPoll = { queues: [...new Set(request.queues)], name, asked, request, timer }
    this.#polls.add(poll)
    for (const queue of poll.queues) this.#alarm.setFor(nextEligibleAt(state, queue))
  }

  #giveUp(poll: WaitingPoll): void {
    if (this.#endPoll(poll)) this.#answer(poll.asked, { kind: 'empty', id: poll.request.id })
  }

  #endPoll(poll: WaitingPoll): boolean {
    poll.timer.cancel()
    return this.#polls.remove(poll)
  }

  #withdraw(asked: Asked, of: number): void {
    const { session, request } = asked
    const poll = this.#polls
      .all()
      .find((poll) => poll.asked.session === session && poll.request.id === of)
    if (poll !== undefined) this.#giveUp(poll)
    this.#answer(asked, { kind: 'withdrawn', id: request.id })
  }

  /** Offers the queue's eligible tasks to those who wait for them. */
  #offer(queue: string): void {
    const { state, registry, time } = this.#parts
    while (this.#polls.has(queue)) {
      const eligibleAt = nextEligibleAt(state, queue)
      if (eligibleAt === undefined || eligibleAt > time.now()) {
        this.#alarm.setFor(eligibleAt)
        return
      }
      const poll = this.#polls.next(queue, (name) => registry.freeCapacity(name))
      if (poll === undefined) return
      this.#endPoll(poll)
      this.#considerLease(poll.asked, poll.request)
    }
  }

  #circumstances(): Circumstances {
    const { state, knobs, time, log } = this.#parts
    return { state, knobs, now: time.now(), nextLsn: log.nextLsn }
  }

  #carryOut(asked: Asked, decision: Decision, urgency: Urgency, holds: Holds): void {
    if (decision.kind === 'expire first') throw new Error('the expiry has to be decided first')
    if (decision.kind === 'answer') {
      this.#answer(asked, decision.answer)
      return
    }
    const { record, answer } = decision
    const onApplied = () => this.#answer(asked, answer(this.#parts.state))
    if (this.#commits.write(record, urgency, holds, onApplied)) return
    this.#answer(asked, notNow(asked.request.id, 'NO_SPACE', noSpaceRetryMs))
  }

  /** A batch has been applied: those who waited for it, and what follows from it. */
  #onSettled(freed: readonly Asked[]): void {
    const forgotten = this.#forgettingThrough === 0 ? this.#askedAboutForgotten.splice(0) : []
    for (const asked of [...freed, ...forgotten]) this.#consider(asked)
    for (const taskId of this.#expiredTasks.splice(0)) this.#stopIfPoison(taskId)
    for (const queue of this.#queuesToOffer) this.#offer(queue)
    this.#queuesToOffer.clear()
    if (this.#isStopping) return
    this.#alarm.setFor(nextExpiry(this.#parts.state)?.at)
    this.tidy()
  }

  #onAlarm(): void {
    this.#expireDue(false)
    for (const queue of this.#polls.queues()) this.#offer(queue)
    this.#alarm.setFor(nextExpiry(this.#parts.state)?.at)
  }

  /** Writes LeaseExpired for leases whose time is over, a bounded number at once; gives how many. */
  #expireDue(atStart: boolean): number {
    const { state, time } = this.#parts
    for (let count = 0; count < tasksAtOnce; count++) {
      const next = nextExpiry(state)
      if (next === undefined || next.at > time.now()) return count
      if (!this.#expire(getLease(state, next.leaseId)!.taskId, atStart)) return count
    }
    return tasksAtOnce
  }

  #expire(taskId: number, atStart: boolean): boolean {
    const { state, time } = this.#parts
    const leaseId = getSummary(state, taskId)!.currentLeaseId!
    const record = { type: 'LeaseExpired', at: time.now(), taskId, leaseId, atStart } as const
    return this.#commits.write(record, 'high', { taskId })
  }

  /** `semantics` §7: a task whose leases expire again and again is offered to nobody any more. */
  #stopIfPoison(taskId: number): void {
    const { state, knobs, time } = this.#parts
    const { poisonThreshold } = knobs
    const task = getSummary(state, taskId)
    if (poisonThreshold === 0 || this.#isStopping || this.#commits.tasks.isHeld(taskId)) return
    if (task?.state !== 'WAITING' || task.expiriesInARow < poisonThreshold) return
    const reason = `poison: ${task.expiriesInARow} leases in a row expired`
    this.#commits.write({ type: 'TaskDead', at: time.now(), taskId, reason }, 'high', { taskId })
  }

  #isBeingForgotten(taskId: number): boolean {
    if (this.#forgettingThrough === 0) return false
    const endedLsn = getSummary(this.#parts.state, taskId)?.endedLsn
    return endedLsn !== undefined && endedLsn <= this.#forgettingThrough
  }

  #noteHeartbeat({ leaseId }: Heartbeat, { name }: Asker, now: number): void {
    const { state, registry, observer } = this.#parts
    const lease = getLease(state, leaseId)
    if (lease?.workerId !== name) return
    registry.holds(name, leaseId)
    observer.leaseMargin?.(lease.leaseExpiry - now)
  }

  #noteEndOfLease(record: LogRecord): void {
    if (!('taskId' in record) || record.type === 'TaskCancelled') return
    const leaseId = getSummary(this.#parts.state, record.taskId)?.currentLeaseId
    if (leaseId) this.#parts.registry.ended(leaseId)
  }

  #noteApplied(record: LogRecord): void {
    const { state, registry, observer } = this.#parts
    observer.applied?.(record)
    switch (record.type) {
      case 'LeaseGranted':
        registry.holds(record.workerId, record.leaseId)
        break
      case 'TaskCreated':
        this.#queuesToOffer.add(record.queue ?? defaultQueue)
        break
      case 'LeaseExpired':
        this.#expiredTasks.push(record.taskId)
        this.#queuesToOffer.add(getSummary(state, record.taskId)!.queue)
        break
      case 'TaskFailed':
        this.#queuesToOffer.add(getSummary(state, record.taskId)!.queue)
        break
      case 'TasksForgotten':
        this.#forgettingThrough = 0
        break
      default:
    }
  }

  #answer(asked: Asked, answer: Answer): void {
    const { observer, time } = this.#parts
    observer.answered?.(asked.request.kind, answer, time.now() - asked.asker.arrivedAt)
    asked.respond(answer)
  }

  #fail(error: unknown): void {
    this.#isStopping = true
    this.#alarm.cancel()
    this.#parts.onFailure(error)
  }
}

/** How many leases are expired, or tasks forgotten, before other work gets its turn. */
const tasksAtOnce = 1000
const noSpaceRetryMs = 1000

/** A request on its way through the loop. */
interface Asked {
  readonly request: Request | MalformedRequest
  readonly session: Session
  readonly asker: Asker
  readonly respond: (answer: Answer) => void
}

interface WaitingPoll {
  readonly queues: readonly string[]
  readonly name: string
  readonly asked: Asked
  readonly request: Lease
  readonly timer: Timer
}
