import {
  type Advice,
  DecisionTime,
  type Session,
  WorkerRegistry,
} from '@tenure/coordinator-server/internal'
import { Violation } from '@tenure/harness'
import type { Request } from '@tenure/protocol'
import { decodeRecord, type LogRecord, position, type State } from '@tenure/state-machine'
import { release } from '@tenure/state-machine/internal'
import { type DecisionContext, isPending } from '../expected/outcome.js'
import { isPoison } from '../expected/time.js'
import type { Scope } from '../scope.js'
import type { DurableState } from '../states/durable-state.js'
import { encode } from '../states/durable-states.js'
import type { RebuildStep, Root, Running } from '../states/node.js'
import {
  type Action,
  conflicting,
  type Kind,
  names,
  packAction,
  submissions,
  unpackAction,
} from './action.js'
import { MemoryLog, type Pending } from './memory-log.js'
import { isPoll, Peers, type Unanswered } from './peers.js'
import { possibleRequests, toRequest } from './requests.js'
import { SteppedClock } from './stepped-clock.js'
import type { ExploredCoordinator, Subject } from './subject.js'

/** The ranking is advice, so every order is allowed; the explorer tries each. */
class ProposedOrder extends WorkerRegistry {
  #favourite = 0
  #isFull = false
  #onAdvice: (name: string) => void = () => {}

  override watch(onAdvice: (name: string) => void): void {
    super.watch(onAdvice)
    this.#onAdvice = onAdvice
  }

  override advice(name: string): Advice {
    if (this.#isFull && name === fillable) return { capacity: 1, leases: 1 }
    return { capacity: name === names[this.#favourite] ? 2 : 1, leases: 0 }
  }

  set favourite(who: number) {
    this.#favourite = who
    for (const name of names) this.#onAdvice(name)
  }

  /** Whether the first worker reports that it is full. */
  get isFull(): boolean {
    return this.#isFull
  }

  set isFull(isFull: boolean) {
    this.#isFull = isFull
    this.#onAdvice(fillable)
  }
}

const fillable = names[1]

const sessions: readonly Session[] = names.map((name) => ({ name }))

/** A running coordinator with its log, its clock and its peers. */
export class Machine {
  readonly #scope: Scope
  readonly #state: State
  readonly #clock: SteppedClock
  readonly #log: MemoryLog
  readonly #peers: Peers
  readonly #registry = new ProposedOrder()
  readonly #coordinator: ExploredCoordinator
  /** The states that the records of a batch lead to, after the applied one. */
  #ahead: readonly DurableState[] = []
  #applied: DurableState
  /** Decoded records in flight. */
  #pending: InFlightRecord[] = []
  #hasStarted = false
  #isDown = false
  #failure: unknown
  #nextId = 1

  private constructor(subject: Subject, scope: Scope, state: State, root: Root) {
    const { durable } = root
    const latestMs = root.kind === 'restarted' ? durable.at : 0
    const wallMs = root.kind === 'restarted' ? root.wallMs : 0
    this.#scope = scope
    this.#state = state
    this.#applied = durable
    this.#clock = new SteppedClock(wallMs, Math.max(wallMs, latestMs))
    this.#log = new MemoryLog(durable.lsn, scope.recordsMax, (pending) => this.#append(pending))
    this.#peers = new Peers({
      applied: () => this.#look(),
      durableLsn: () => this.#log.durableLsn,
      hasStarted: () => this.#hasStarted,
      surroundings: (nextLsn) => this.#surroundings(nextLsn),
    })
    this.#coordinator = subject.createCoordinator({
      state,
      log: this.#log,
      clock: this.#clock,
      registry: this.#registry,
      time: new DecisionTime(this.#clock, latestMs),
      knobs: scope.knobs,
      observer: {},
      onFailure: (error) => {
        this.#failure ??= error
      },
    })
  }

  static async make(subject: Subject, scope: Scope, state: State, root: Root): Promise<Machine> {
    const machine = new Machine(subject, scope, state, root)
    machine.#start()
    await flushPromises()
    if (root.kind === 'running') machine.#resume(root)
    machine.#check()
    return machine
  }

  /** Identifies this state of the system among all states with the same records. */
  get key(): string {
    const pending = this.#pending.map(({ lsn, bytes }) => {
      const owner = this.#peers.unanswered.findIndex((asked) => asked.lsn === lsn)
      return `${owner}:${bytes.length}:${Buffer.from(bytes).toString('latin1')}`
    })
    const unanswered = this.#peers.unanswered.map(
      ({ action, arrivedAt, lsn }) => `${action}@${arrivedAt}=${lsn}`,
    )
    const life = this.#isDown ? 'down' : this.#hasStarted ? 'up' : 'starting'
    const onDisk = this.#log.writing.length
    const fullness = this.#registry.isFull ? 'full' : ''
    return [this.#clock.ms, life, fullness, onDisk, ...unanswered, '', ...pending].join('|')
  }

  /** The state of the durable records. */
  get durable(): DurableState {
    return this.#applied
  }

  /** Every answer so far, without request ids. */
  get heard(): readonly string[] {
    return this.#peers.heard.map(
      ([name, { id: _, ...answer }]) => `${name}: ${JSON.stringify(answer)}`,
    )
  }

  /** Records that were handed to the disk. */
  get writing(): readonly Pending[] {
    return this.#log.writing
  }

  get now(): number {
    return this.#clock.ms
  }

  /** All actions that are possible now, except crashes. */
  possibleActions(): number[] {
    const actions: number[] = []
    if (this.#clock.ms < this.#scope.lastInstant) actions.push(packAction('tick'))
    if (this.#hasStarted && !this.#isDown) {
      actions.push(...this.#possibleRequests())
      if (this.#scope.mayFill) {
        actions.push(packAction(this.#registry.isFull ? 'free capacity' : 'fill', { who: 1 }))
      }
      if (this.#clock.isDue()) actions.push(...this.#eachOrder('ring'))
      for (const asked of this.#polls()) {
        const who = names.indexOf(asked.name as 'w1')
        actions.push(packAction('leave', { who }), packAction('withdraw', { who }))
      }
    }
    if (this.#log.writing.length > 0) {
      actions.push(packAction('fail to sync'), ...this.#eachOrder('sync'))
    } else if (this.#log.filling.length > 0) actions.push(packAction('write'))
    return actions
  }

  async perform(packed: number, ahead: readonly DurableState[] = []): Promise<void> {
    const action = unpackAction(packed)
    this.#registry.favourite = action.who
    try {
      await this.#do(packed, action, ahead)
    } catch (error) {
      throw this.#peers.fault ?? error
    }
    this.#check()
  }

  /** A way to rebuild this machine without its history, possible while no batch is at the disk. */
  resumption(): Running | undefined {
    const isUp = this.#hasStarted && !this.#isDown
    // A start would stop a poison task immediately, and at its own time.
    const isPoisonStopped = this.#pending.some(
      ({ lsn, record }) => record.type === 'TaskDead' && !this.#isAsked(lsn),
    )
    if (!isUp || isPoisonStopped) return undefined
    const asked: RebuildStep[] = this.#pending.map(({ lsn, record }) => {
      const owner = this.#peers.unanswered.find((it) => it.lsn === lsn)
      const decided = { decidedAt: record.at, isFull: false }
      if (owner === undefined)
        return { action: packAction('ring'), arrivedAt: record.at, ...decided }
      return { action: owner.action, arrivedAt: owner.arrivedAt, ...decided }
    })
    const { isFull } = this.#registry
    const order = this.#peers.unanswered.map(({ action, arrivedAt, lsn }) => {
      const place = this.#pending.findIndex((it) => it.lsn === lsn)
      if (place !== -1) return place
      return asked.push({ action, arrivedAt, decidedAt: this.#clock.ms, isFull }) - 1
    })
    return { kind: 'running', durable: this.#applied, now: this.#clock.ms, isFull, asked, order }
  }

  #isAsked(lsn: number): boolean {
    return this.#peers.unanswered.some((asked) => asked.lsn === lsn)
  }

  /** Returns the state unchanged; records in flight are dropped. */
  abandon(): void {
    for (const { taskId } of this.#applied.tasks) release(this.#state, taskId)
  }

  #start(): void {
    this.#coordinator.start().then(
      () => {
        this.#hasStarted = true
      },
      (error: unknown) => {
        if (this.#log.isFull) this.#isDown = true
        else this.#failure ??= error
      },
    )
  }

  #resume({ asked, now, isFull, order }: Running): void {
    for (const { action, arrivedAt, decidedAt, isFull } of asked) {
      this.#clock.set(decidedAt)
      this.#registry.isFull = isFull
      if (unpackAction(action).kind === 'ring') this.#clock.ring()
      else this.#ask(action, unpackAction(action), arrivedAt)
    }
    this.#clock.set(now)
    this.#registry.isFull = isFull
    const { unanswered } = this.#peers
    const byAsked = asked
      .map(({ action }, place) => ({ action, place }))
      .filter(({ action }) => unpackAction(action).kind !== 'ring')
    if (unanswered.length !== byAsked.length) return
    const placed = new Map(byAsked.map(({ place }, index) => [place, unanswered[index]!]))
    this.#peers.arrange(order.map((place) => placed.get(place)!))
  }

  async #do(packed: number, action: Action, ahead: readonly DurableState[]): Promise<void> {
    switch (action.kind) {
      case 'tick':
        this.#clock.set(this.#clock.ms + 1)
        break
      case 'ring':
        this.#clock.ring()
        break
      case 'fill':
        this.#registry.isFull = true
        break
      case 'free capacity':
        this.#registry.isFull = false
        this.#coordinator.join(sessions[action.who]!, 1)
        break
      case 'leave':
        this.#leave(names[action.who]!)
        break
      case 'write':
        this.#log.write()
        break
      case 'sync':
        this.#ahead = ahead
        this.#log.sync()
        await flushPromises()
        this.#checkReplayed()
        break
      case 'fail to sync':
        this.#log.fail()
        await flushPromises()
        this.#checkFailed()
        break
      default:
        this.#ask(packed, action, this.#clock.ms)
    }
  }

  #ask(packed: number, action: Action, arrivedAt: number): void {
    const request = this.#toRequest(action)
    if (request === undefined) throw new Error(`${action.kind} is not a request`)
    const session = sessions[action.who]!
    const asked = { action: packed, request, name: session.name, arrivedAt, lsn: 0 }
    if (arrivedAt !== this.#clock.ms) this.#clock.readNext(arrivedAt)
    this.#peers.ask(asked, (respond) => this.#coordinator.handle(request, session, respond))
  }

  #toRequest(action: Action): Request | undefined {
    const id = this.#nextId++
    if (action.kind !== 'withdraw') return toRequest(action, id, this.#scope)
    const poll = this.#polls().find(({ name }) => name === names[action.who])!
    poll.isWithdrawn = true
    return { kind: 'withdraw', id, of: poll.request.id }
  }

  #leave(name: string): void {
    this.#peers.forget((asked) => asked.name === name && asked.lsn === 0 && isPoll(asked))
    this.#coordinator.leave(sessions[names.indexOf(name as 'w1')]!)
  }

  #append({ lsn, bytes }: Pending): void {
    const record = decodeRecord(bytes)
    this.#peers.see(lsn, record, bytes)
    this.#pending = [...this.#pending, { lsn, record, bytes }]
  }

  /** The applied state, also in the middle of a batch. */
  #look(): DurableState {
    const { lastLsn } = position(this.#state)
    if (lastLsn === this.#applied.lsn) return this.#applied
    const applied = this.#ahead.find(({ lsn }) => lsn === lastLsn)
    if (applied === undefined) return this.#applied
    this.#applied = applied
    this.#pending = this.#pending.filter(({ lsn }) => lsn > lastLsn)
    return applied
  }

  #surroundings(nextLsn: number): DecisionContext {
    const applied = this.#look()
    return {
      knobs: this.#scope.knobs,
      tasks: applied.tasks,
      now: this.#clock.ms,
      nextLsn,
      pending: this.#pending,
      isFull: this.#log.isFull,
      fullWorkers: this.#registry.isFull ? [fillable] : [],
      payloads: applied,
    }
  }

  #polls(): Unanswered[] {
    return this.#peers.unanswered.filter((asked) => asked.lsn === 0 && isPoll(asked))
  }

  /** If two workers wait, either may be served first. */
  #eachOrder(kind: Kind): number[] {
    return this.#polls().length < 2
      ? [packAction(kind)]
      : [1, 2].map((who) => packAction(kind, { who }))
  }

  #possibleRequests(): number[] {
    const { requestsInFlight, pollMs, pollsUntilLsn } = this.#scope
    const polls = this.#polls()
    if (this.#peers.unanswered.length - polls.length >= requestsInFlight) return []
    const mayPoll = pollMs > 0 && this.#log.nextLsn <= pollsUntilLsn
    const isPolling = new Set(polls.map(({ action }) => action))
    const requests = possibleRequests(this.#applied.tasks, this.#submissions(), mayPoll)
    return requests.filter((it) => !isPolling.has(it))
  }

  /**
   * The other payload comes after the first one with the same id; before it, it would be just
   * another task.
   */
  #submissions(): number[] {
    const isNamed = (requestId: string) =>
      this.#applied.tasks.some((task) => task.requestId === requestId) ||
      this.#peers.unanswered.some(
        ({ request }) => request.kind === 'submit' && request.requestId === requestId,
      )
    const all = submissions.slice(0, this.#scope.tasks).map((_, number) => number)
    return isNamed(submissions[conflicting].requestId) ? [...all, conflicting] : all
  }

  #check(): void {
    if (this.#peers.fault !== undefined) throw this.#peers.fault
    if (this.#failure !== undefined) {
      throw new Violation('the coordinator never fails by itself', String(this.#failure))
    }
    const { lastLsn } = position(this.#state)
    if (lastLsn > this.#log.durableLsn) {
      throw new Violation('nothing is applied before it is durable', `LSN ${lastLsn}`)
    }
    if (this.#hasStarted && !this.#isDown) this.#checkWaiting()
  }

  /** No request waits forever, and no due time is missed. */
  #checkWaiting(): void {
    const forgotten = this.#peers.findForgotten(this.#clock.isDue(), this.#log.nextLsn)
    if (forgotten !== undefined) {
      const found = `${forgotten.name} waits for an answer to ${JSON.stringify(forgotten.request)}`
      throw new Violation('every request is answered', found)
    }
    if (this.#log.isFull || this.#applied.tasks.length === 0) return
    const it = this.#surroundings(this.#log.nextLsn)
    const nextMs = this.#clock.nextTimerMs ?? Number.POSITIVE_INFINITY
    const isPolled = this.#polls().some(({ name }) => !it.fullWorkers.includes(name))
    for (const { taskId, state, attempts, eligibleAt } of it.tasks) {
      if (isPending(it, taskId)) continue
      const dueMs =
        state === 'LEASED' ? attempts.at(-1)!.leaseExpiry : isPolled ? eligibleAt : undefined
      if (dueMs !== undefined && nextMs > Math.max(dueMs, it.now)) {
        throw new Violation('no due time is missed', `task ${taskId} is due at ${dueMs}`)
      }
      if (isPoison(taskId, it)) throw new Violation('a poison task is stopped', `task ${taskId}`)
    }
  }

  /** The live state equals a replay of the records. */
  #checkReplayed(): void {
    const { encoded, lsn } = this.#look()
    if (lsn !== this.#log.durableLsn) {
      const found = `LSN ${this.#log.durableLsn} is durable, LSN ${lsn} is applied`
      throw new Violation('every durable record is applied', found)
    }
    if (Buffer.compare(encode(this.#state), encoded) === 0) return
    throw new Violation('a replay gives the live state', `not at LSN ${lsn}`)
  }

  /** No request in flight is answered, now or later. */
  #checkFailed(): void {
    const isNoticed = this.#failure !== undefined
    this.#failure = undefined
    this.#isDown = true
    if (!isNoticed) throw new Violation('a failed log is noticed', 'the coordinator keeps running')
  }
}

interface InFlightRecord {
  readonly lsn: number
  readonly record: LogRecord
  readonly bytes: Uint8Array
}

/** Runs all pending promise callbacks; startup has the longest chain of them. */
async function flushPromises(): Promise<void> {
  for (let turn = 0; turn < 12; turn++) await undefined
}
