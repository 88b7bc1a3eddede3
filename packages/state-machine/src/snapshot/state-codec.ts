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
 * The encoding of a state, for checkpoints: a sequence of MessagePack values.
 *
 *     [version, lsn, at, number of tasks, [counters]]   task   task   task ...
 *
 * WAITING and LEASED tasks come first, ordered by id, then terminal tasks, in the order of their ends.
 * Each has its attempts (see `task-values.ts`). Chunks are cut between any two values; the cuts have no
 * meaning. Only authoritative data is included. The indexes are rebuilt from it, with the same order.
 */
const stateVersion = 1

export interface EncodeStateOptions {
  /** Maximum size of a chunk. Only a single larger task makes a larger chunk. */
  readonly chunkBytesMax?: number
}

const writer = new ValueWriter()
const reader = new ValueReader()

/**
 * Chunks are encoded on demand. The state must not change in between: after a record is applied,
 * the next chunk fails with `STATE_CHANGED`.
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

/** Parts of two states would form a state that never existed. */
function assertUnchanged({ authoritative }: State, lastLsn: number): void {
  if (authoritative.lastLsn === lastLsn) return
  const message = `LSN ${authoritative.lastLsn} was applied while the state after LSN ${lastLsn} was being encoded. Encode the state again`
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
 * Decodes the chunks of an encoded state, in order. Accepts only what `encodeState` writes. After
 * an error the decoder cannot be used any more.
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
      const what = this.#tasksMissing === undefined ? 'its header' : 'a task'
      throw malformedState(`${what} is malformed: ${error.message}`, { cause: error })
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
    if (this.#tasksMissing === 0)
      throw malformedState('it contains more tasks than its header says')
    this.#restorer.restore(reader)
    this.#tasksMissing--
  }

  #assertUndone(): void {
    if (!this.#isDone) return
    const message = 'this decoder has already returned its state or failed; create a new one'
    throw new StateMachineError('STATE_BAD_ARGUMENT', message)
  }
}

/** Returns how many tasks follow. */
function restoreHead({ authoritative }: State): number {
  const length = reader.list()
  if (length < 1) throw new Unreadable('it has no version')
  const version = reader.whole()
  if (version !== stateVersion) {
    const own = `this release reads version ${stateVersion}`
    throw malformedState(`its version is ${version}; ${own}. Use a newer release`)
  }
  if (length !== 5) throw new Unreadable(`it has ${length} values, not 5`)
  authoritative.lastLsn = reader.whole()
  authoritative.lastAt = reader.whole()
  if (authoritative.lastAt > recordLimits.timeMsMax) throw new Unreadable('its time is too late')
  const tasks = reader.whole()
  if (reader.list() !== counterNames.length) throw new Unreadable('its number of counters is wrong')
  for (const name of counterNames) authoritative.counters[name] = reader.whole()
  return tasks
}

/**
 * SHA-256 of the state, in hexadecimal. Equal states have equal hashes on every machine, however
 * they were reached. It covers the encoded state, which contains only authoritative data in a fixed
 * order and does not depend on the memory layout.
 */
export function hashState(state: State): string {
  const hash = createHash('sha256')
  for (const chunk of encodeState(state)) hash.update(chunk)
  return hash.digest('hex')
}
