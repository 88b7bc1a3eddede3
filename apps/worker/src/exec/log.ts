import { StringDecoder } from 'node:string_decoder'
import { LogThrottle, type RunEvents } from '@tenure/worker-runtime'

const lineCharactersMax = 4096

/**
 * Turns a command's standard error into log lines. Each event loop turn accepts as many lines as from a
 * handler in a thread, because all heartbeats wait for the end of the turn. Further lines are dropped and
 * counted.
 */
export class CommandLog {
  readonly #lines: Lines
  readonly #throttle: LogThrottle
  /** Lines accepted in this turn of the event loop. */
  #taken = 0

  constructor(logged: RunEvents['logged']) {
    this.#throttle = new LogThrottle((...line) => {
      logged(...line)
      this.#countTaken()
    })
    this.#lines = new Lines(lineCharactersMax, (line) =>
      this.#throttle.pass('info', line, { stream: 'stderr' }),
    )
  }

  push(bytes: Buffer): void {
    this.#lines.push(bytes)
  }

  end(): void {
    this.#lines.end()
    this.#throttle.reportDropped()
  }

  #countTaken(): void {
    if (this.#taken++ > 0) return
    setImmediate(() => {
      const lines = this.#taken
      this.#taken = 0
      this.#throttle.acknowledge(lines)
    })
  }
}

/** Splits a byte stream into lines. An overlong line is split into several. */
export class Lines {
  readonly #charactersMax: number
  readonly #take: (line: string) => void
  readonly #decoder = new StringDecoder('utf8')
  #rest = ''

  constructor(charactersMax: number, take: (line: string) => void) {
    this.#charactersMax = charactersMax
    this.#take = take
  }

  push(bytes: Buffer): void {
    const lines = (this.#rest + this.#decoder.write(bytes)).split('\n')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) this.#take(this.#cut(line))
    this.#rest = this.#cut(this.#rest)
  }

  end(): void {
    const last = this.#rest + this.#decoder.end()
    this.#rest = ''
    if (last !== '') this.#take(this.#cut(last))
  }

  /** Emits the line in pieces of the maximum length and returns the rest. */
  #cut(line: string): string {
    let rest = line
    while (rest.length > this.#charactersMax) {
      this.#take(rest.slice(0, this.#charactersMax))
      rest = rest.slice(this.#charactersMax)
    }
    return rest
  }
}
