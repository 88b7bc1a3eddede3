import type { Entry } from '../follow/entry.js'
import type { Opening } from '../follow/log-source.js'
import { Outages } from './outages.js'

/** The time and the outages, from record to record. */
export class RecordedTime {
  readonly outages = new Outages()
  readonly #openings: Opening[]
  /** The first record that was read. Tasks created earlier are not followed. */
  firstLsn: number | undefined
  firstAt = 0
  now = 0
  records = 0

  constructor(openings: readonly Opening[]) {
    this.#openings = [...openings]
  }

  pass({ lsn, record }: Entry): void {
    if (this.firstLsn === undefined) {
      this.firstLsn = lsn
      this.firstAt = record.at
    }
    while (this.#openings[0] !== undefined && this.#openings[0].firstLsn <= lsn) {
      const { at: until } = this.#openings.shift()!
      if (this.records > 0) this.outages.add({ since: this.now, until })
    }
    this.records++
    this.now = record.at
  }
}
