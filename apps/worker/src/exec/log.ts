import { StringDecoder } from 'node:string_decoder'
import { type RunEvents, Valve } from '@tenure/worker-runtime'

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

/** Cuts what comes in pieces into lines; one that is too long comes in several. */
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

  /** Gives away what is too much, and back what is left of it. */
  #cut(line: string): string {
    let rest = line
    while (rest.length > this.#charactersMax) {
      this.#take(rest.slice(0, this.#charactersMax))
      rest = rest.slice(this.#charactersMax)
    }
    return rest
  }
}
