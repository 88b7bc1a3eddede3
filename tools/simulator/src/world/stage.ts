import { crc32 } from 'node:zlib'
import { describeError } from '@tenure/harness'
import { keep } from '@tenure/history'
import type { Answer, Reason, Request } from '@tenure/protocol'
import type { LogRecord } from '@tenure/state-machine'
import { Random, SimulatedClock, SimulatedNetwork } from '@tenure/testing'
import { describeRecord, Ledger } from '../checks/ledger.js'
import { Owners } from '../checks/owners.js'
import { type Probe, Probes, probeOf } from '../play/probes.js'
import type { Scenario, TaskPlan } from '../scenario/scenario.js'
import { holds, Violation } from '../violation.js'
import { EventLog } from './event-log.js'
import { resultOf } from './handlers.js'
import { type Statement, Wire } from './wire.js'

/** Maximum travel time of a piece in a healthy network. */
const healthyMs = 2
const startMs = Date.UTC(2026, 5, 1)
export type Ending = 'drained' | 'refused' | 'lied' | 'lost'

/** Shared by all parts of a world: time, network, random sources, and observations. */
export class Stage {
  readonly scenario: Scenario
  readonly clock = new SimulatedClock({ startMs, soon: 'manual' })
  readonly events: EventLog
  readonly probes = new Probes()
  readonly ledger = new Ledger()
  readonly owners: Owners
  /** All answers, in the order of their requests. */
  readonly statements: Statement[] = []
  /** How often each kind of fault has struck. */
  readonly faults = new Map<string, number>()
  /** The disk was full at some time, so NO_SPACE is a possible answer. */
  wasDiskFull = false
  /** The LSN of the newest checkpoint that was begun. */
  coveredLsn = 0
  /** No more faults happen. */
  isHealed = false
  /** No wall clock was set, and those of several coordinators agree. */
  isTimeHonest = true
  /** Number of the coordinator's current life. */
  life = 0
  /** On a shared log: the last record that a leader knows to be stored. Later ones were not acknowledged. */
  #toldLsn: number | undefined
  readonly #decidedIn = new Map<number, number>()
  readonly #queues = new Map<string, readonly string[]>()
  readonly #plans = new Map<number, TaskPlan>()
  readonly #taskIds = new Map<number, number>()
  #violation: Violation | undefined
  #ending: Ending | undefined

  constructor(scenario: Scenario, onLine?: (line: string) => void) {
    this.scenario = scenario
    this.events = new EventLog(() => this.clock.monotonicMs(), onLine)
    this.owners = new Owners(() => this.isTimeHonest)
    for (const operation of scenario.operations) {
      if (operation.kind === 'submit') this.#plans.set(operation.number, operation.task)
    }
    if (scenario.sharedLog !== undefined) {
      this.#toldLsn = 0
      this.isTimeHonest = scenario.sharedLog.aheadMs.every((aheadMs) => aheadMs === 0)
    }
  }

  /** A random source for each purpose, so that a change in one place does not affect the others. */
  randomOf(purpose: string): Random {
    return new Random(crc32(`${this.scenario.seed} ${purpose}`))
  }

  get violation(): Violation | undefined {
    return this.#violation
  }

  get ending(): Ending | undefined {
    return this.#ending
  }

  end(ending: Ending): void {
    this.#ending ??= ending
  }

  /** Runs a check, and keeps the first violation. */
  watch(look: () => void): void {
    try {
      look()
    } catch (error) {
      this.#note(error)
    }
  }

  /** Awaits work, and keeps the first violation. */
  wait(work: Promise<unknown>): void {
    work.catch((error: unknown) => this.#note(error))
  }

  after(ms: number, action: () => void): void {
    this.clock.setTimer(ms, () => this.watch(action))
  }

  count(fault: string): void {
    this.faults.set(fault, (this.faults.get(fault) ?? 0) + 1)
    this.events.add(`fault ${fault}`)
  }

  probe(probe: Probe, isReached: boolean): void {
    if (isReached) this.probes.reach(probe)
  }

  /** This worker's lease requests name these queues. */
  serves(name: string, queues: readonly string[]): void {
    this.#queues.set(name, queues)
  }

  queuesOf(name: string): readonly string[] {
    return this.#queues.get(name) ?? []
  }

  planOf(number: number): TaskPlan | undefined {
    return this.#plans.get(number)
  }

  taskIdOf(number: number): number | undefined {
    return this.#taskIds.get(number)
  }

  submitted(number: number, taskId: number): void {
    this.#taskIds.set(number, taskId)
  }

  /**
   * The life in which the lease was last granted or extended; the worker may hear of it in a later
   * one.
   */
  lifeOf(leaseId: number): number {
    return this.#decidedIn.get(leaseId) ?? this.life
  }

  /** Takes the next record of the log, as applied, found or stored. `life`: who decided it. */
  addRecord(record: LogRecord, life = this.life): void {
    const kept = keep({ lsn: this.ledger.lastLsn + 1, record }).record
    this.events.add(describeRecord(kept))
    this.#probeRecord(kept)
    this.#checkResult(kept)
    if (kept.type === 'LeaseGranted' || kept.type === 'LeaseExtended') {
      this.#decidedIn.set(kept.leaseId, life)
    }
    this.ledger.add(kept)
  }

  listenIn(who: string): Wire {
    const asked = (request: Statement['request']): Statement => {
      const fromLsn = this.#toldLsn ?? this.ledger.lastLsn
      const heard = { toLsn: fromLsn, coveredLsn: 0, answer: undefined }
      const statement: Statement = { who, request, fromLsn, ...heard }
      this.statements.push(statement)
      return statement
    }
    return new Wire({ asked }, (statement, answer) => this.#heard(statement, answer))
  }

  /** A leader of a shared log knows that these records are stored. */
  mayTell(lsn: number): void {
    this.#toldLsn = Math.max(this.#toldLsn ?? 0, lsn)
  }

  /** A worker was rejected for a reason that an honest worker never meets. */
  refused(what: string, reason: Reason): void {
    // A repeated report may arrive after its task was forgotten.
    if (reason === 'UNKNOWN_TASK' && this.ledger.naive.counters().tasksForgotten > 0) return
    throw new Violation('the coordinator accepts the shipped worker', `${what}: ${reason}`)
  }

  /** A coordinator's network, with its own random source. */
  makeNetwork(name: string): SimulatedNetwork {
    const { networkMsMax, pieceBytesMax } = this.scenario.knobs
    const random = this.randomOf(name)
    return new SimulatedNetwork(this.clock, {
      delayMs: () => random.next() * (this.isHealed ? healthyMs : networkMsMax),
      pieceBytesMax: () =>
        this.isHealed ? Number.POSITIVE_INFINITY : 1 + random.integer(pieceBytesMax),
    })
  }

  #heard(statement: Statement, answer: Answer): void {
    statement.answer = answer
    statement.toLsn = this.ledger.lastLsn
    statement.coveredLsn = this.coveredLsn
    const probe = probeOf(statement.request, answer)
    if (probe !== undefined) this.probes.reach(probe)
    this.#probeRepetition(statement.request, answer, statement.fromLsn)
    this.events.add(`${statement.who} heard ${answer.kind} to ${statement.request.kind}`)
  }

  /** A reported result must be the one that the handler returned under this lease. */
  #checkResult(record: LogRecord): void {
    if (record.type !== 'TaskCompleted') return
    const { taskId, leaseId, result = new Uint8Array() } = record
    const grant = this.ledger.record(leaseId)
    if (grant?.type !== 'LeaseGranted' || grant.workerId.startsWith('rogue')) return
    const isOwn = Buffer.compare(result, resultOf(leaseId)) === 0
    const found = Buffer.from(result).toString()
    holds(isOwn, 'a result is what its handler returned', () => `task ${taskId}: ${found}`)
  }

  /** The request was answered without a record of its own. */
  #probeRepetition(request: Request, answer: Answer, fromLsn: number): void {
    if (!('leaseId' in request) || request.leaseId === undefined) return
    const isRecorded = this.ledger.hasRecordBehind(fromLsn, request.leaseId)
    this.probe('a report was committed twice', answer.kind === 'committed' && !isRecorded)
    this.probe('a heartbeat changed nothing', answer.kind === 'extended' && !isRecorded)
  }

  #probeRecord(record: LogRecord): void {
    const { naive } = this.ledger
    switch (record.type) {
      case 'TaskFailed': {
        const task = naive.task(record.taskId)
        const isLast = task !== undefined && task.failures >= task.retryPolicy.maxRetries
        this.probes.reach(isLast ? 'a task failed for good' : 'a retry waited')
        break
      }
      case 'LeaseExpired':
        this.probe('leases expired at a start', record.atStart)
        break
      case 'TaskDead':
        this.probe('a leased task was killed', naive.task(record.taskId)?.state === 'LEASED')
        this.probe('a task was poison', record.reason.startsWith('poison'))
        break
      case 'TasksForgotten':
        this.probes.reach('tasks were forgotten')
        break
      case 'TaskCreated':
        this.probe('a delayed task waited', (record.notBefore ?? 0) > record.at)
        break
      default:
    }
  }

  #note(error: unknown): void {
    this.#violation ??=
      error instanceof Violation
        ? error
        : new Violation('no unexpected error occurs', describeError(error), { cause: error })
  }
}
