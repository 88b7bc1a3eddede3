import type { LogFields, LogLevel, WriteLine } from '../handler.js'

/** Maximum number of unacknowledged log lines. */
export const linesPendingMax = 256
/** Longer lines are cut. */
const charactersMax = 16_384

/**
 * Limits a handler's log lines to what the runtime can process. A flood of lines would otherwise fill its
 * memory and delay heartbeats. Excess lines are dropped and counted.
 */
export class LogThrottle {
  readonly #write: WriteLine
  #pending = 0
  #dropped = 0

  constructor(write: WriteLine) {
    this.#write = write
  }

  readonly pass = (level: LogLevel, message: string, fields?: LogFields): void => {
    if (this.#pending < linesPendingMax) {
      this.#pending++
      this.#write(level, message.slice(0, charactersMax), fields)
    } else this.#dropped++
  }

  /** The runtime has processed this many lines. */
  acknowledge(lines: number): void {
    this.#pending -= lines
    this.reportDropped()
  }

  /** Logs the number of lines dropped since the last call, if any. */
  reportDropped(): void {
    if (this.#dropped === 0) return
    const dropped = this.#dropped
    this.#dropped = 0
    this.#pending++
    this.#write('warn', 'log lines dropped', { dropped })
  }
}
