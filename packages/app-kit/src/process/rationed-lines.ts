const periodMs = 1000

/** So many lines a second, and then one with the number of those left out. */
export class RationedLines {
  readonly #linesMax: number
  readonly #later: Later
  readonly #onLeftOut: (count: number) => void
  #lines = 0
  #leftOut = 0

  constructor(linesMax: number, onLeftOut: (count: number) => void, later: Later = systemLater) {
    this.#linesMax = linesMax
    this.#later = later
    this.#onLeftOut = onLeftOut
  }

  write(line: () => void): void {
    if (this.#lines === 0) this.#later(periodMs, () => this.#endPeriod())
    if (this.#lines < this.#linesMax) line()
    else this.#leftOut++
    this.#lines++
  }

  #endPeriod(): void {
    if (this.#leftOut > 0) this.#onLeftOut(this.#leftOut)
    this.#lines = 0
    this.#leftOut = 0
  }
}

/** Runs the action once, later, without keeping the process alive for it. */
export type Later = (delayMs: number, action: () => void) => void

/** The machine's own timer: the only file here that sets one. */
const systemLater: Later = (delayMs, action) => {
  setTimeout(action, delayMs).unref()
}
