export interface ProgressOutput {
  readonly isTTY?: boolean
  write(text: string): unknown
}

/** Shows the progress: in a terminal one line that is rewritten, otherwise a new line from time to time. */
export class Progress {
  readonly #output: ProgressOutput
  readonly #describe: () => string
  readonly #timer: NodeJS.Timeout

  constructor(output: ProgressOutput, describe: () => string) {
    this.#output = output
    this.#describe = describe
    this.#timer = setInterval(() => this.show(), output.isTTY ? 500 : 10_000)
  }

  end(): void {
    clearInterval(this.#timer)
    if (this.#output.isTTY) this.#output.write(clear)
  }

  show(): void {
    const line = this.#describe()
    this.#output.write(this.#output.isTTY ? `${clear}${line}` : `${line}\n`)
  }
}

const clear = '\r\u001b[K'

/** Logs the next step of synchronous work, which would block a timer. */
export function tellStep(what: string): void {
  process.stderr.write(`${Math.round(performance.now() / 1000)} s: ${what}\n`)
}
