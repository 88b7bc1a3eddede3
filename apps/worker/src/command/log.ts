import { type RunEvents, Valve } from '@tenure/worker-runtime'
import { Lines } from '../lines.js'

const lineCharactersMax = 4096

/**
 * What a command writes to its standard error, as lines of the log. A turn of the loop takes as many
 * of them as it takes of a handler in a thread: the heartbeats of all tasks wait for its end. What a
 * flood has beyond that is left out, and counted.
 */
export class CommandLog {
  readonly #lines: Lines
  readonly #valve: Valve
  /** In this turn of the loop. */
  #taken = 0

  constructor(logged: RunEvents['logged']) {
    this.#valve = new Valve((...line) => {
      logged(...line)
      this.#countTaken()
    })
    this.#lines = new Lines(lineCharactersMax, (line) =>
      this.#valve.pass('info', line, { stream: 'stderr' }),
    )
  }

  push(bytes: Buffer): void {
    this.#lines.push(bytes)
  }

  end(): void {
    this.#lines.end()
    this.#valve.tellLeftOut()
  }

  #countTaken(): void {
    if (this.#taken++ > 0) return
    setImmediate(() => {
      const lines = this.#taken
      this.#taken = 0
      this.#valve.heard(lines)
    })
  }
}
