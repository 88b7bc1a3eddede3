/** When no coordinator ran, as far as the log tells: after the last record before it, until it was opened again. */
export interface Outage {
  readonly since: number
  readonly until: number
}

/** Outages in the order of time. */
export class Outages {
  readonly #all: Outage[] = []

  add(outage: Outage): void {
    this.#all.push(outage)
  }

  /** The one in which this moment lies: what fell due then was seen at its end. */
  around(at: number): Outage | undefined {
    return this.#all.findLast(({ since, until }) => since < at && at <= until)
  }
}
