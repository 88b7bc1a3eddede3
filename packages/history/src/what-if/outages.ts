/**
 * A time without a coordinator, as far as the log shows: from the last record before an open to the
 * open.
 */
export interface Outage {
  readonly since: number
  readonly until: number
}

/** Outages in order of time. */
export class Outages {
  readonly #all: Outage[] = []

  add(outage: Outage): void {
    this.#all.push(outage)
  }

  /** The outage that contains this moment. An expiry in it is found at its end. */
  around(at: number): Outage | undefined {
    return this.#all.findLast(({ since, until }) => since < at && at <= until)
  }
}
