import { describeError } from '@tenure/harness'
import {
  apply,
  createState,
  encodeRecord,
  hashState,
  type LogRecord,
  type State,
} from '@tenure/state-machine'
import { NaiveModel, windowEndOf } from '@tenure/testing'
import { findDifference } from '@tenure/testing-histories'
import { holds, Violation } from '../violation.js'

/**
 * Every record, in order, as coordinators applied it or as it was found in their logs. The naive
 * model judges whether each one was legal, independently of the state machine.
 */
export class Ledger {
  readonly naive = new NaiveModel()
  /** The state of the shipped state machine after a replay of the records. */
  readonly #replayed: State = createState()
  readonly #records: LogRecord[] = []
  readonly #taskOfLease = new Map<number, number>()

  get lastLsn(): number {
    return this.#records.length
  }

  get records(): readonly LogRecord[] {
    return this.#records
  }

  record(lsn: number): LogRecord | undefined {
    return this.#records[lsn - 1]
  }

  /** The newest lease of any other worker. */
  newestLeaseBeside(name: string): { taskId: number; leaseId: number } | undefined {
    const grant = this.#records.findLast(
      (record) => record.type === 'LeaseGranted' && record.workerId !== name,
    )
    return grant?.type === 'LeaseGranted' ? grant : undefined
  }

  /** The required hash of the current state. */
  replayedHash(): string {
    return hashState(this.#replayed)
  }

  /** The required hash of the state at an LSN. */
  hashAt(lsn: number): string {
    if (lsn === this.lastLsn) return this.replayedHash()
    const state = createState()
    for (const [index, record] of this.#records.slice(0, lsn).entries()) {
      apply(state, index + 1, record)
    }
    return hashState(state)
  }

  /** Both models have the same state after the records. */
  checkModels(): void {
    const difference = findDifference(this.#replayed, this.naive)
    const isSame = difference === undefined
    holds(isSame, 'the naive model has the same state', () => difference ?? '')
  }

  hasRecordBehind(lsn: number, leaseId: number): boolean {
    const records = this.#records.slice(lsn)
    return records.some((record) => 'leaseId' in record && record.leaseId === leaseId)
  }

  /** Whether the lease cannot be extended further. */
  endsWithWindow(taskId: number, leaseId: number): boolean {
    const task = this.naive.task(taskId)
    const attempt = task?.attempts.find((attempt) => attempt.leaseId === leaseId)
    if (task === undefined || attempt === undefined) return false
    return attempt.leaseExpiry === windowEndOf(task, attempt)
  }

  taskOf(record: LogRecord): number | undefined {
    if ('taskId' in record) return record.taskId
    return 'leaseId' in record ? this.#taskOfLease.get(record.leaseId) : undefined
  }

  add(record: LogRecord): void {
    const lsn = this.lastLsn + 1
    const brokenRule = this.naive.apply(lsn, record)
    const text = () => `LSN ${lsn}, ${describeRecord(record)}`
    holds(brokenRule === undefined, 'the log is legal', () => `${text()}: ${brokenRule}`)
    try {
      apply(this.#replayed, lsn, record)
    } catch (error) {
      throw new Violation('the log can be replayed', `${text()}: ${describeError(error)}`)
    }
    if (record.type === 'LeaseGranted') this.#taskOfLease.set(record.leaseId, record.taskId)
    this.#records.push(record)
  }

  /** A record that is found at a known LSN must equal the known one. */
  compare(lsn: number, found: LogRecord): void {
    const known = this.record(lsn)!
    const isSame = Buffer.compare(encodeRecord(known), encodeRecord(found)) === 0
    holds(isSame, 'a written record never changes', () => {
      return `LSN ${lsn} was ${describeRecord(known)} and is now ${describeRecord(found)}`
    })
  }
}

export function describeRecord(record: LogRecord): string {
  const facts = Object.entries(record).map(([name, value]) => {
    return `${name}=${value instanceof Uint8Array ? `${value.length} bytes` : JSON.stringify(value)}`
  })
  return facts.join(' ')
}
