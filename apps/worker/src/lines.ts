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
    for (const line of lines) this.#take(line)
    while (this.#rest.length > this.#charactersMax) {
      this.#take(this.#rest.slice(0, this.#charactersMax))
      this.#rest = this.#rest.slice(this.#charactersMax)
    }
  }

  end(): void {
    const last = this.#rest + this.#decoder.end()
    this.#rest = ''
    if (last !== '') this.#take(last)
  }
}
