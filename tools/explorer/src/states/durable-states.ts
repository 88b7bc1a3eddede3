import { Violation } from '@tenure/harness'
import {
  apply,
  checkInvariants,
  createState,
  decodeRecord,
  encodeState,
  hashState,
  listTasks,
  type State,
  StateDecoder,
} from '@tenure/state-machine'
import { NaiveModel } from '@tenure/testing'
import { findDifference } from '@tenure/testing-histories'
import type { Subject } from '../machine/subject.js'
import { DurableState } from './durable-state.js'

/**
 * All states of logs, each once. A new state is checked by itself: the naive model agrees, all
 * indexes are consistent, and a replay and a checkpoint give the same state.
 */
export class DurableStates {
  readonly #subject: Subject
  /** By LSN, then by encoding. */
  readonly #levels: Map<string, DurableState>[] = []
  #size = 0

  constructor(subject: Subject) {
    this.#subject = subject
  }

  get size(): number {
    return this.#size
  }

  level(lsn: number): Iterable<DurableState> {
    return this.#levels[lsn]?.values() ?? []
  }

  /** Forgets states of this many records; no further path leads to them. */
  drop(lsn: number): void {
    this.#levels[lsn]?.clear()
  }

  root(): Promise<DurableState> {
    return this.#find(createState(), 0, [])
  }

  /** The state after one more record, which has to be a legal step. */
  async next(from: DurableState, bytes: Uint8Array): Promise<DurableState> {
    const key = Buffer.from(bytes).toString('latin1')
    const known = from.next.get(key)
    if (known !== undefined) return known
    const state = decodeState(from.encoded)
    const record = decodeRecord(bytes)
    try {
      apply(state, from.lsn + 1, record)
    } catch (error) {
      throw new Violation('every written record can be applied', String(error))
    }
    const next = await this.#find(state, record.at, [...from.records, bytes])
    from.next.set(key, next)
    return next
  }

  async #find(state: State, at: number, records: readonly Uint8Array[]): Promise<DurableState> {
    const encoded = encode(state)
    const key = Buffer.from(encoded).toString('latin1')
    this.#levels[records.length] ??= new Map()
    const level = this.#levels[records.length]!
    const known = level.get(key)
    if (known !== undefined) return known
    const model = modelOf(records)
    const found = new DurableState(this.#size, at, encoded, model.tasks(), records)
    checkInvariants(state)
    checkModel(model, state)
    await this.#checkReplay(found, state)
    checkCheckpoint(found)
    level.set(key, found)
    this.#size++
    return found
  }

  async #checkReplay(durable: DurableState, live: State): Promise<void> {
    const replayed = await this.#subject.recover(durable.log())
    checkInvariants(replayed)
    const isSame = hashState(replayed) === hashState(live)
    if (!isSame) throw new Violation('a replay gives the same state', describe(live, replayed))
  }
}

/** The naive model of the same records. */
function modelOf(records: readonly Uint8Array[]): NaiveModel {
  const model = new NaiveModel()
  for (const [index, bytes] of records.entries()) {
    const broken = model.apply(index + 1, decodeRecord(bytes))
    if (broken !== undefined) {
      throw new Violation('every written record can be applied', broken)
    }
  }
  return model
}

function checkModel(model: NaiveModel, state: State): void {
  const difference = findDifference(state, model)
  if (difference !== undefined) throw new Violation('the naive model agrees', difference)
}

function checkCheckpoint(durable: DurableState): void {
  const state = decodeState(durable.encoded)
  checkInvariants(state)
  if (Buffer.compare(encode(state), durable.encoded) === 0) return
  throw new Violation('a checkpoint gives the same state', `not at LSN ${durable.lsn}`)
}

function describe(live: State, replayed: State): string {
  const [one, other] = [live, replayed].map((state) => JSON.stringify([...listTasks(state)]))
  return `${one} was ${other} after a replay`
}

export function encode(state: State): Uint8Array {
  return Buffer.concat([...encodeState(state)])
}

export function decodeState(encoded: Uint8Array): State {
  const decoder = new StateDecoder()
  decoder.add(encoded)
  return decoder.finish()
}
