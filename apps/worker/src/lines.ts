import { StringDecoder } from 'node:string_decoder'

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
