import { deepStrictEqual, strictEqual } from 'node:assert'
import {
  apply,
  checkInvariants,
  countQueues,
  createState,
  decodeRecord,
  encodeRecord,
  encodeState,
  endedTasks,
  findByRequestId,
  getCounters,
  getLease,
  getTask,
  hashState,
  InvariantViolation,
  type LogRecord,
  leasedTasks,
  nextEligible,
  nextEligibleAt,
  nextExpiry,
  position,
  queueNames,
  type State,
  StateDecoder,
  skipTo,
  transitions,
  waitingTasks,
} from '@tenure/state-machine'
import { countAhead } from '@tenure/state-machine/internal'
import { NaiveModel } from '@tenure/testing'
import { attemptedBy, type Position, type Step } from './history.js'
import { allTasks } from './world.js'

/** Plays one history to the state, to the naive model, and in other ways to two more states. */
export class Play {
  readonly #counts: Map<string, number>
  readonly #cut: number
  readonly #start: Position
  readonly #model = new NaiveModel()
  /** Receives everything, including rejected records. */
  readonly #state = createState()
  /** Receives only accepted records, each decoded from its bytes. */
  readonly #replayed = createState()
  /** Is decoded from the chunks of the state at the cut, and continues from there. */
  #restored = createState({ hashKey: 7 })

  constructor(counts: Map<string, number>, cut: number, start: Position) {
    this.#counts = counts
    this.#cut = cut
    this.#start = start
  }

  through(steps: readonly Step[]): void {
    if (this.#start.lsn > 0) this.#skipTo(this.#start.lsn)
    for (const [index, step] of steps.entries()) {
      if (index === this.#cut) this.#restored = rebuild(this.#state, 1 + step.choice)
      const { lastLsn: lsn, lastAt: at } = position(this.#state)
      const attempted = attemptedBy(step, this.#state, { lsn, at: at || this.#start.at })
      if ('skipTo' in attempted) this.#skipTo(attempted.skipTo)
      else this.#apply(attempted.lsn, attempted.record)
      this.#compareNext(step)
    }
    this.#compareAll()
  }

  #skipTo(nextLsn: number): void {
    for (const side of [this.#model, this.#state, this.#replayed, this.#restored]) {
      if (side instanceof NaiveModel) side.skipTo(nextLsn)
      else skipTo(side, nextLsn)
    }
  }

  #apply(lsn: number, record: LogRecord): void {
    const before = this.#stateOf(record)
    const broken = ruleBrokenBy(this.#state, lsn, record)
    strictEqual(broken, this.#model.apply(lsn, record), `${JSON.stringify(record)} at LSN ${lsn}`)
    this.#count(
      broken === undefined ? `accepted: ${record.type}` : `refused: ${record.type}: ${broken}`,
    )
    if (broken !== undefined) return

    this.#compareTask(record)
    this.#compareTransition(record, before)
    apply(this.#replayed, lsn, decodeRecord(encodeRecord(record)))
    apply(this.#restored, lsn, record)
  }

  /** Compares the next due task, for a choice of queues that a step makes. */
  #compareNext({ choice, pick }: Step): void {
    const queues = [['default'], ['q', 'r'], ['r', 'ünï', 'default'], ['none', 'q']][choice % 4]!
    const now = position(this.#state).lastAt + (pick % 3) * 50
    const [queue = ''] = queues
    const model = this.#model
    for (const state of [this.#state, this.#restored]) {
      strictEqual(nextEligible(state, queues, now), model.nextEligible(queues, now))
      strictEqual(nextEligibleAt(state, queue), model.nextEligibleAt(queue))
      deepStrictEqual(nextExpiry(state), model.nextExpiry())
    }
  }

  #compareTask(record: LogRecord): void {
    if (!('taskId' in record)) return
    const task = getTask(this.#state, record.taskId)
    deepStrictEqual(task, this.#model.task(record.taskId))
    if (task?.currentLeaseId)
      strictEqual(getLease(this.#state, task.currentLeaseId)?.taskId, task.taskId)
  }

  #compareTransition(record: LogRecord, before: string | undefined): void {
    const after = this.#stateOf(record)
    const { from, to }: { from: readonly string[]; to: readonly string[] } =
      transitions[record.type]
    if (before !== undefined)
      strictEqual(from.includes(before), true, `${record.type} from ${before}`)
    if (to.length === 0) strictEqual(after, before, `${record.type} changes ${before} to ${after}`)
    else strictEqual(to.includes(String(after)), true, `${record.type} to ${after}`)
  }

  #stateOf(record: LogRecord): string | undefined {
    return 'taskId' in record ? getTask(this.#state, record.taskId)?.state : undefined
  }

  #compareAll(): void {
    const state = this.#state
    checkInvariants(state)
    deepStrictEqual(allTasks(state), this.#model.tasks())
    deepStrictEqual(getCounters(state), this.#model.counters())
    deepStrictEqual([...leasedTasks(state)], this.#model.leased())
    deepStrictEqual([...endedTasks(state)], this.#model.ended())
    deepStrictEqual(queueNames(state), this.#model.queues())
    strictEqual(countQueues(state), this.#model.queues().length)
    for (const other of [this.#replayed, this.#restored]) {
      checkInvariants(other)
      strictEqual(hashState(other), hashState(state))
      deepStrictEqual(allTasks(other), allTasks(state))
    }
    for (const queue of queueNames(state)) {
      deepStrictEqual([...waitingTasks(state, queue)], this.#model.waiting(queue))
      deepStrictEqual([...waitingTasks(this.#restored, queue)], this.#model.waiting(queue))
      this.#compareAhead(queue)
    }
    for (const { taskId, requestId } of allTasks(state)) {
      if (requestId !== undefined) strictEqual(findByRequestId(state, requestId), taskId)
    }
  }

  /** Compares each task's position in its queue, also with a limit below the count. */
  #compareAhead(queue: string): void {
    for (const [index, taskId] of this.#model.waiting(queue).entries()) {
      for (const limit of [0, 2, 1000]) {
        const ahead = { count: Math.min(index, limit), isMore: index > limit }
        deepStrictEqual(countAhead(this.#state, taskId, limit), ahead)
        deepStrictEqual(countAhead(this.#restored, taskId, limit), ahead)
      }
    }
  }

  #count(outcome: string): void {
    this.#counts.set(outcome, (this.#counts.get(outcome) ?? 0) + 1)
  }
}

function ruleBrokenBy(state: State, lsn: number, record: LogRecord): string | undefined {
  try {
    apply(state, lsn, record)
    return undefined
  } catch (error) {
    if (error instanceof InvariantViolation) return error.rule
    throw error
  }
}

function rebuild(state: State, chunkBytesMax: number): State {
  const decoder = new StateDecoder({ hashKey: 7 })
  for (const chunk of encodeState(state, { chunkBytesMax })) decoder.add(chunk)
  return decoder.finish()
}
