import { Packr, Unpackr } from 'msgpackr'
import { malformedState } from './errors.js'
import { createState, type State, type StateOptions } from './state.js'
import { states } from './store/task-rows.js'
import type { Counters } from './task.js'
import { restoreTask, taskValues } from './task-values.js'
import { isList, isWhole, matches } from './values.js'

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

const counterNames = [
  'tasksCreated',
  'leasesGranted',
  'leasesExtended',
  'leasesExpired',
  'leasesExpiredAtStart',
  'tasksCompleted',
  'retries',
  'tasksFailed',
  'tasksDead',
  'tasksForgotten',
  'possibleDuplicates',
  'confirmedDuplicates',
] as const satisfies readonly (keyof Counters)[]

export interface EncodeStateOptions {
  /** How large a chunk may get; only a single task that is larger makes a larger one. */
  readonly chunkBytesMax?: number
}

const packr = new Packr({ useRecords: false })
const unpackr = new Unpackr({ useRecords: false })

export function* encodeState(
  state: State,
  options: EncodeStateOptions = {},
): Generator<Uint8Array> {
  const { chunkBytesMax = 256 * 1024 } = options
  let values: Uint8Array[] = []
  let bytes = 0
  for (const value of sequence(state)) {
    const packed = packr.pack(value)
    if (bytes > 0 && bytes + packed.length > chunkBytesMax) {
      yield Buffer.concat(values)
      values = []
      bytes = 0
    }
    values.push(packed)
    bytes += packed.length
  }
  yield Buffer.concat(values)
}

function* sequence(state: State): Generator<unknown[]> {
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

/** Takes the chunks of an encoded state, in their order, and gives the state. */
export class StateDecoder {
  readonly #state: State
  #tasksMissing: number | undefined
  #finished = false

  constructor(options: StateOptions = {}) {
    this.#state = createState(options)
  }

  add(chunk: Uint8Array): void {
    this.#assertUnfinished()
    for (const value of unpack(chunk)) {
      if (this.#tasksMissing === undefined) {
        this.#restoreHead(value)
      } else {
        if (this.#tasksMissing === 0)
          throw malformedState('there are more tasks than its head says')
        restoreTask(this.#state, value)
        this.#tasksMissing--
      }
    }
  }

  finish(): State {
    this.#assertUnfinished()
    if (this.#tasksMissing === undefined) throw malformedState('it is empty')
    if (this.#tasksMissing > 0)
      throw malformedState(`${this.#tasksMissing} tasks are missing at its end`)
    this.#finished = true
    return this.#state
  }

  #restoreHead(value: unknown): void {
    const { authoritative } = this.#state
    if (Array.isArray(value) && isWhole(value[0]) && value[0] !== stateVersion) {
      throw malformedState(
        `its version is ${value[0]}; this software reads version ${stateVersion}`,
      )
    }
    if (!matches(value, [isWhole, isWhole, isWhole, isWhole, isList]))
      throw malformedState('its head is none')
    const [, lastLsn, lastAt, tasks, counts] = value
    if (
      !matches(
        counts,
        counterNames.map(() => isWhole),
      )
    )
      throw malformedState('its counters are none')
    authoritative.lastLsn = lastLsn
    authoritative.lastAt = lastAt
    for (const [index, name] of counterNames.entries()) authoritative.counters[name] = counts[index]
    this.#tasksMissing = tasks
  }

  #assertUnfinished(): void {
    if (this.#finished) throw new Error('this decoder has given its state; make a new one')
  }
}

function unpack(chunk: Uint8Array): unknown[] {
  try {
    return unpackr.unpackMultiple(chunk) as unknown[]
  } catch (error) {
    throw malformedState('a chunk is no sequence of MessagePack values', { cause: error })
  }
}
