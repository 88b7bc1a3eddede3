import type { Output } from '@tenure/app-kit'

const control = '\u001b['
const clearRestOfLine = `${control}K`
const clearBelow = `${control}J`

/** A place on a terminal that is written over and over. What was above it stays. */
export class Screen {
  readonly #output: Output
  #height = 0

  constructor(output: Output) {
    this.#output = output
  }

  /** The cursor is left below it: whatever ends the program leaves a terminal to go on with. */
  draw(text: string): void {
    const lines = text.trimEnd().split('\n')
    const up = this.#height === 0 ? '' : `\r${control}${this.#height}A`
    const drawn = lines.map((line) => `${line}${clearRestOfLine}\n`).join('')
    this.#output.write(`${up}${drawn}${clearBelow}`)
    this.#height = lines.length
  }

  /** Takes away what Ctrl-C has left on the line of the cursor. */
  end(): void {
    if (this.#height > 0) this.#output.write(`\r${clearRestOfLine}`)
  }
}
