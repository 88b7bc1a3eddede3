import type { LogFields, LogLevel, WriteLine } from '../handler.js'

/** So many lines may be on their way to the runtime at once. */
export const linesUnheardMax = 256
/** A line that is longer is cut. */
const charactersMax = 16_384

/**
 * What a handler logs, up to as much as the runtime has time for. A handler that floods its log would
 * otherwise fill the runtime's memory, and keep its loop from the heartbeats. What is too much is
 * left out, and counted.
 */
export class Valve {
  readonly #write: WriteLine
  #unheard = 0
  #leftOut = 0

  constructor(write: WriteLine) {
    this.#write = write
  }

  readonly pass = (level: LogLevel, message: string, fields?: LogFields): void => {
    if (this.#unheard < linesUnheardMax) {
      this.#unheard++
      this.#write(level, message.slice(0, charactersMax), fields)
    } else this.#leftOut++
  }

  /** The runtime has taken so many. */
  heard(lines: number): void {
    this.#unheard -= lines
    this.tellLeftOut()
  }

  /** Once for all that were left out since the last time. */
  tellLeftOut(): void {
    if (this.#leftOut === 0) return
    const leftOut = this.#leftOut
    this.#leftOut = 0
    this.#unheard++
    this.#write('warn', 'lines of the log are left out', { leftOut })
  }
}
