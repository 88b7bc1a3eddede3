import { holds, Violation } from '@tenure/harness'
import {
  apply,
  checkInvariants,
  createState,
  decodeRecord,
  encodeRecord,
  encodeState,
  hashState,
  InvariantViolation,
  type LogRecord,
  position,
  type State,
  StateDecoder,
  StateMachineError,
} from '@tenure/state-machine'
import { NaiveModel, type Random } from '@tenure/testing'
import { anyRecord, historyRecords, withAnotherNumber } from '../corpus/records.js'
import type { Input } from '../input/input.js'
import { mutateOneOf, mutateSteps, pickOf, replaced } from '../input/mutation.js'
import type { Target } from '../input/target.js'
import { codeOf, untyped } from '../input/violation.js'

/** The decoder of records, and the state machine. */
export interface RecordsParts {
  readonly decodeRecord: typeof decodeRecord
  readonly apply: typeof apply
}

const shipped: RecordsParts = { decodeRecord, apply }

/**
 * Records of a log, one after the other: each is decoded and applied to the state of those before
 * it.
 */
export function recordsTarget(parts: Partial<RecordsParts> = {}): Target {
  const used = { ...shipped, ...parts }
  return {
    name: 'records',
    generate,
    mutate(random, input, other) {
      if (random.chance(0.3)) return mutateSteps(random, input, other)
      return random.chance(0.4) ? mutateRecord(random, input) : mutateOneOf(random, input, other)
    },
    run: (input) => new Replay(used).run(input),
  }
}

function generate(random: Random): Input {
  const bytes = random.chance(0.8)
    ? historyRecords(random, 10 + random.integer(60))
    : [encodeRecord(anyRecord(random))]
  return bytes.map((record) => ({ kind: 'record', bytes: record }))
}

/** Changes a number in a field, or replaces the record. */
function mutateRecord(random: Random, input: Input): Input {
  const step = pickOf(random, input)
  if (step === undefined) return generate(random)
  try {
    const record = random.chance(0.7)
      ? withAnotherNumber(random, decodeRecord(step.bytes!))
      : anyRecord(random)
    return replaced(input, step, { kind: 'record', bytes: encodeRecord(record) })
  } catch (error) {
    codeOf(error, isTyped)
    return input
  }
}

class Replay {
  readonly #parts: RecordsParts
  readonly #state = createState()
  readonly #model = new NaiveModel()
  readonly #accepted: LogRecord[] = []
  readonly #words = new Set<string>()

  constructor(parts: RecordsParts) {
    this.#parts = parts
  }

  run(input: Input): string {
    for (const { bytes } of input) {
      const record = this.#decode(bytes!)
      if (record !== undefined) this.#apply(record)
    }
    this.#checkState()
    return [...this.#words].sort().join(', ')
  }

  #decode(bytes: Uint8Array): LogRecord | undefined {
    let record: LogRecord
    try {
      record = this.#parts.decodeRecord(bytes)
    } catch (error) {
      const code = codeOf(error, isTyped)
      holds(unreadable.includes(code), untyped, () => String(error))
      this.#words.add(`${code} ${(error as Error).message.replaceAll(/\d+/g, '#').slice(0, 60)}`)
      return undefined
    }
    const again = encodeRecord(record)
    holds(Buffer.compare(again, bytes) === 0, 'a record has one encoding', () =>
      Buffer.from(again).toString('hex'),
    )
    return record
  }

  /** The state machine and the naive model must agree. */
  #apply(record: LogRecord): void {
    const lsn = position(this.#state).lastLsn + 1
    const rule = this.#ruleBroken(lsn, record)
    const naive = this.#model.apply(lsn, record)
    holds(
      rule === naive,
      'the state machine and the naive model reject the same records',
      () => `${record.type} at LSN ${lsn}: ${rule}; naively: ${naive}`,
    )
    if (rule === undefined) this.#accepted.push(record)
    this.#words.add(rule ?? record.type)
  }

  #ruleBroken(lsn: number, record: LogRecord): string | undefined {
    try {
      this.#parts.apply(this.#state, lsn, record)
      return undefined
    } catch (error) {
      if (error instanceof InvariantViolation) return error.rule
      throw error
    }
  }

  /**
   * The state is consistent and equals a replay of the accepted records, also after encoding and
   * decoding.
   */
  #checkState(): void {
    try {
      checkInvariants(this.#state)
    } catch (error) {
      throw new Violation('no record breaks an invariant', String(error))
    }
    const hash = hashState(this.#state)
    const replayed = createState({ hashKey: 7 })
    for (const [index, record] of this.#accepted.entries()) apply(replayed, index + 1, record)
    holds(hashState(replayed) === hash, 'a rejected record changes nothing', () => hash)
    holds(hashState(restored(this.#state)) === hash, 'a state survives a round trip', () => hash)
  }
}

function restored(state: State): State {
  const decoder = new StateDecoder()
  for (const chunk of encodeState(state, { chunkBytesMax: 200 })) decoder.add(chunk)
  return decoder.finish()
}

const unreadable = ['STATE_MALFORMED_RECORD', 'STATE_UNKNOWN_RECORD']

function isTyped(error: Error): boolean {
  return error instanceof StateMachineError
}
