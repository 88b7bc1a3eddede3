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
 * Every record there ever was, in order, as the coordinators applied them and as their logs were found
 * to hold them. The naive model judges each: that it was legal then, whatever the state machine says.
 */
export class Ledger {
  readonly naive = new NaiveModel()
  /** What the shipped state machine makes of the records when it is given nothing else. */
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

  /** The lease that was granted last, to somebody else than this one. */
  newestLeaseBeside(name: string): { taskId: number; leaseId: number } | undefined {
    const grant = this.#records.findLast(
      (record) => record.type === 'LeaseGranted' && record.workerId !== name,
    )
    return grant?.type === 'LeaseGranted' ? grant : undefined
  }

  /** What the state has to be now, by its hash. */
  replayedHash(): string {
    return hashState(this.#replayed)
  }

  /** What the records make is the same by either model. */
  checkModels(): void {
    const difference = findDifference(this.#replayed, this.naive)
    const isSame = difference === undefined
    holds(isSame, 'the naive model has the same state', () => difference ?? '')
  }

  hasRecordBehind(lsn: number, leaseId: number): boolean {
    const records = this.#records.slice(lsn)
    return records.some((record) => 'leaseId' in record && record.leaseId === leaseId)
  }

  /** Whether the lease cannot become longer. */
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

  /** What was found at an LSN that is known already has to be what was there before. */
  compare(lsn: number, found: LogRecord): void {
    const known = this.record(lsn)!
    const isSame = Buffer.compare(encodeRecord(known), encodeRecord(found)) === 0
    holds(isSame, 'what was decided stays so', () => {
      return `LSN ${lsn} was ${describeRecord(known)}, and is ${describeRecord(found)}`
    })
  }
}

export function describeRecord(record: LogRecord): string {
  const facts = Object.entries(record).map(([name, value]) => {
    return `${name}=${value instanceof Uint8Array ? `${value.length} bytes` : JSON.stringify(value)}`
  })
  return facts.join(' ')
}
