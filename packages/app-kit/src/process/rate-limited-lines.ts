import { type Clock, systemClock } from '@tenure/seams'

const periodMs = 1000

/** Writes up to `linesMax` lines per second, and reports the number of lines it left out. */
export class RateLimitedLines {
  readonly #linesMax: number
  readonly #clock: Clock
  readonly #onLeftOut: (count: number) => void
  #lines = 0
  #leftOut = 0

  constructor(linesMax: number, onLeftOut: (count: number) => void, clock: Clock = systemClock) {
    this.#linesMax = linesMax
    this.#clock = clock
    this.#onLeftOut = onLeftOut
  }

  write(line: () => void): void {
    if (this.#lines === 0) this.#clock.setTimer(periodMs, () => this.#endPeriod(), 'background')
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
