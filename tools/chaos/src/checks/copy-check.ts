import { isSameRecord, type Logged } from '../evidence/record-file.js'
import { Found } from './found.js'

/** Whether the copy of the log holds what is left of the log itself, record for record, to its end. */
export class CopyCheck {
  readonly faults = new Found()
  readonly #left: readonly Logged[]
  #next = 0

  constructor(left: readonly Logged[]) {
    this.#left = left
  }

  /** Of the copy, in its order. */
  read({ lsn, record }: Logged): void {
    this.#passBefore(lsn)
    const left = this.#left[this.#next]
    const isBehindAll = left === undefined && this.#left.length > 0
    if (isBehindAll) this.faults.add(`LSN ${lsn} was copied and is in the log no more`)
    // What comes before all that is left has been removed behind a checkpoint.
    if (left === undefined || left.lsn > lsn) return
    this.#next++
    if (!isSameRecord(left.record, record)) {
      this.faults.add(`LSN ${lsn} is ${left.record.type}; when it was copied it was ${record.type}`)
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
      this.faults.add(`LSN ${this.#nextLsn} is in the log and was not copied`)
    }
  }
}
