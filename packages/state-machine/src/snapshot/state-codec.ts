import { createHash } from 'node:crypto'
import { describe } from '@tenure/options'
import { Unreadable, ValueReader, ValueWriter } from '@tenure/values'
import { check, malformedState, StateMachineError } from '../errors.js'
import { recordLimits } from '../record.js'
import { createState, type State, type StateOptions } from '../state/state.js'
import { taskValues } from '../state/task-values.js'
import { states } from '../store/task-rows.js'
import { counterNames } from '../task.js'
import { isWholeOf } from '../values.js'
import { TaskRestorer } from './task-restorer.js'

/**
 * A whole state as bytes, for checkpoints: MessagePack values one behind the other,
 *
 *     [version, lsn, at, number of tasks, [counters]]   task   task   task ...
 *
 * first the tasks that live, in the order of their ids, then those that have ended, in the order of
 * their ends; each with its attempts (see `task-values.ts`). The sequence is cut into chunks anywhere
 * between two values; where, says nothing. Only what is authoritative is in it: the indexes are made
 * again, and come out the same because all order is a function of it.
 */
const stateVersion = 1

export interface EncodeStateOptions {
  /** How large a chunk may get; only a single task that is larger makes a larger one. */
  readonly chunkBytesMax?: number
}

const writer = new ValueWriter()
const reader = new ValueReader()

/**
 * The chunks are made while they are asked for. Between two of them the state must stay as it is:
 * after a record was applied the next one is a `STATE_CHANGED` error.
 */
export function encodeState(
  state: State,
  options: EncodeStateOptions = {},
): Generator<Uint8Array, void, undefined> {
  const { chunkBytesMax = 256 * 1024 } = options
  if (!isWholeOf(chunkBytesMax, 1, Number.MAX_SAFE_INTEGER))
    throw check.refusal('chunkBytesMax', describe(chunkBytesMax), 'a whole number of 1 or more')
  return encodeChunks(state, chunkBytesMax)
}

function* encodeChunks(
  state: State,
  chunkBytesMax: number,
): Generator<Uint8Array, void, undefined> {
  const { lastLsn } = state.authoritative
  let values: Uint8Array[] = []
  let bytes = 0
  for (const value of sequence(state)) {
    writer.begin()
    writer.value(value)
    const packed = writer.end()
    if (bytes > 0 && bytes + packed.length > chunkBytesMax) {
      yield Buffer.concat(values)
      assertUnchanged(state, lastLsn)
      values = []
      bytes = 0
    }
    values.push(packed)
    bytes += packed.length
  }
  yield Buffer.concat(values)
}

/** Half of one state and half of the next would be a state that never was. */
function assertUnchanged({ authoritative }: State, lastLsn: number): void {
  if (authoritative.lastLsn === lastLsn) return
  const message = `LSN ${authoritative.lastLsn} was applied while the state of LSN ${lastLsn} was encoded`
  throw new StateMachineError('STATE_CHANGED', message)
}

function* sequence(state: State): Generator<readonly unknown[]> {
  const { lastLsn, lastAt, counters, tasks } = state.authoritative
  const counts = counterNames.map((name) => counters[name])
  yield [stateVersion, lastLsn, lastAt, tasks.size, counts]
  const { byLsn, ended } = state.derived
  for (const [lsn, row] of byLsn.entries()) {
    const lives = tasks.state.get(row) <= states.LEASED
    if (lives && tasks.taskId.get(row) === lsn) yield taskValues(state, row)
  }
  for (const row of ended.rows()) yield taskValues(state, row)
}

/**
 * Takes the chunks of an encoded state, in their order, and gives the state. It takes only what
 * `encodeState` writes, and is of no use after its first error.
 */
export class StateDecoder {
  readonly #state: State
  readonly #restorer: TaskRestorer
  #tasksMissing: number | undefined
  #isDone = false

  constructor(options: StateOptions = {}) {
    this.#state = createState(options)
    this.#restorer = new TaskRestorer(this.#state)
  }

  add(chunk: Uint8Array): void {
    this.#assertUndone()
    this.#isDone = true
    try {
      reader.begin(chunk)
      while (!reader.isAtEnd) this.#restoreNext()
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error
      const what = this.#tasksMissing === undefined ? 'its head' : 'a task'
      throw malformedState(`${what} is none: ${error.message}`, { cause: error })
    }
    this.#isDone = false
  }

  finish(): State {
    this.#assertUndone()
    this.#isDone = true
    if (this.#tasksMissing === undefined) throw malformedState('it is empty')
    if (this.#tasksMissing > 0)
      throw malformedState(`${this.#tasksMissing} tasks are missing at its end`)
    return this.#state
  }

  #restoreNext(): void {
    if (this.#tasksMissing === undefined) {
      this.#tasksMissing = restoreHead(this.#state)
      return
    }
    if (this.#tasksMissing === 0) throw malformedState('there are more tasks than its head says')
    this.#restorer.restore(reader)
    this.#tasksMissing--
  }

  #assertUndone(): void {
    if (!this.#isDone) return
    const message = 'this decoder has given its state or failed; make a new one'
    throw new StateMachineError('STATE_BAD_ARGUMENT', message)
  }
}

/** Says how many tasks follow. */
function restoreHead({ authoritative }: State): number {
  const length = reader.list()
  if (length < 1) throw new Unreadable('it has no version')
  const version = reader.whole()
  if (version !== stateVersion) {
    const own = `this software reads version ${stateVersion}`
    throw malformedState(`its version is ${version}; ${own}: use a newer one`)
  }
  if (length !== 5) throw new Unreadable(`it has ${length} values, not 5`)
  authoritative.lastLsn = reader.whole()
  authoritative.lastAt = reader.whole()
  if (authoritative.lastAt > recordLimits.timeMsMax) throw new Unreadable('its time is too late')
  const tasks = reader.whole()
  if (reader.list() !== counterNames.length) throw new Unreadable('its counters are others')
  for (const name of counterNames) authoritative.counters[name] = reader.whole()
  return tasks
}

/**
 * SHA-256 of the state, in hexadecimal. Equal for equal states on every machine, however they were
 * reached: it is taken over the encoded state, which holds what is authoritative, in an order of its
 * own, and no trace of where things stand in memory.
 */
export function hashState(state: State): string {
  const hash = createHash('sha256')
  for (const chunk of encodeState(state)) hash.update(chunk)
  return hash.digest('hex')
}
