import { isSameRecord, type Logged } from '../evidence/record-file.js'
import { FaultSample } from './fault-sample.js'

/**
 * Compares the copy of the log with the records that the log still holds, record for record, to its
 * end.
 */
export class CopyCheck {
  readonly faults = new FaultSample()
  readonly #left: readonly Logged[]
  #next = 0

  constructor(left: readonly Logged[]) {
    this.#left = left
  }

  /** Takes the records of the copy in their order. */
  read({ lsn, record }: Logged): void {
    this.#passBefore(lsn)
    const left = this.#left[this.#next]
    const isBehindAll = left === undefined && this.#left.length > 0
    if (isBehindAll) this.faults.add(`LSN ${lsn} was copied and is no longer in the log`)
    // Records before the first one left were removed after a checkpoint.
    if (left === undefined || left.lsn > lsn) return
    this.#next++
    if (!isSameRecord(left.record, record)) {
      this.faults.add(`LSN ${lsn} is ${left.record.type} in the log and ${record.type} in the copy`)
    }
  }

  end(): void {
    this.#passBefore(Number.POSITIVE_INFINITY)
  }

  get #nextLsn(): number {
    return this.#left[this.#next]?.lsn ?? Number.POSITIVE_INFINITY
  }

  #passBefore(lsn: number): void {
    for (; this.#nextLsn < lsn; this.#next++) {
      this.faults.add(`LSN ${this.#nextLsn} is in the log and not in the copy`)
    }
  }
}
