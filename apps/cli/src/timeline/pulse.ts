const ticksMax = 256

/** The heartbeats of one attempt. Of very many only every second, fourth … is kept, and always the last. */
export class Pulse {
  /** No heartbeat was removed with the beginning of the log. */
  readonly isWhole: boolean
  #kept: number[] = []
  #every = 1
  #last: number | undefined
  count = 0

  constructor(isWhole = true) {
    this.isWhole = isWhole
  }

  add(at: number): void {
    if (this.count % this.#every === 0) this.#kept.push(at)
    this.count++
    this.#last = at
    if (this.#kept.length < ticksMax) return
    this.#kept = this.#kept.filter((_, index) => index % 2 === 0)
    this.#every *= 2
  }

  get ticks(): readonly number[] {
    const last = this.#last
    return last === undefined || this.#kept.at(-1) === last ? this.#kept : [...this.#kept, last]
  }
}
