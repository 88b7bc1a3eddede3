import { createHash } from 'node:crypto'

/** All events as one hash: two runs with the same hash are the same run. */
export class EventLog {
  readonly #hash = createHash('sha256')
  readonly #onLine: ((line: string) => void) | undefined
  readonly #nowMs: () => number
  #count = 0

  constructor(nowMs: () => number, onLine?: (line: string) => void) {
    this.#nowMs = nowMs
    this.#onLine = onLine
  }

  get count(): number {
    return this.#count
  }

  add(what: string): void {
    const line = `${this.#nowMs().toFixed(3)} ${what}\n`
    this.#count++
    this.#hash.update(line)
    this.#onLine?.(line)
  }

  digest(): string {
    return this.#hash.digest('hex').slice(0, 16)
  }
}
