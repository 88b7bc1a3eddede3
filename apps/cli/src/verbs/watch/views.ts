import { type Host, type Output, printable } from '@tenure/app-kit'
import { displayOf } from '../../terminal/display.js'
import { toJsonLine } from '../../terminal/json.js'
import { type Frame, showFrame, showInterval } from './show.js'

export interface View {
  show(frame: Frame): void
  end(): void
}

/** Redraws in place on a terminal; otherwise prints lines or JSON. */
export function viewFor(host: Host, json: boolean): View {
  if (json) return new JsonView(host)
  return host.stdout.isTTY === true ? new ScreenView(host) : new LineView(host)
}

class ScreenView implements View {
  readonly #host: Host
  readonly #screen: Screen

  constructor(host: Host) {
    this.#host = host
    this.#screen = new Screen(host.stdout)
  }

  /** Reads the size each time: the terminal may have been resized. */
  show(frame: Frame): void {
    const { stdout, env } = this.#host
    const { rows = 24 } = stdout
    this.#screen.draw(showFrame(frame, displayOf(stdout, env), rows - 1))
  }

  end(): void {
    this.#screen.end()
  }
}

const linesBetweenHeads = 20

class LineView implements View {
  readonly #host: Host
  #count = 0

  constructor(host: Host) {
    this.#host = host
  }

  show({ sample, rates, trouble }: Frame): void {
    if (trouble !== undefined) tell(this.#host, trouble)
    else if (rates !== undefined) {
      const heads = this.#count++ % linesBetweenHeads === 0
      this.#host.stdout.write(showInterval({ sample, rates }, heads))
    }
  }

  end(): void {}
}

class JsonView implements View {
  readonly #host: Host

  constructor(host: Host) {
    this.#host = host
  }

  show({ sample: { stats, workers }, rates, trouble }: Frame): void {
    if (trouble !== undefined) tell(this.#host, trouble)
    else if (rates !== undefined) {
      const line = { at: stats.now, rates, stats, workers: workers?.workers }
      this.#host.stdout.write(toJsonLine(line))
    }
  }

  end(): void {}
}

function tell({ stderr }: Host, trouble: string): void {
  stderr.write(`tenure: no answer: ${printable(trouble)}\n`)
}

const control = '\u001b['
const clearRestOfLine = `${control}K`
const clearBelow = `${control}J`

/** A part of a terminal that is rewritten in place, below the existing output. */
export class Screen {
  readonly #output: Output
  #height = 0

  constructor(output: Output) {
    this.#output = output
  }

  /** Leaves the cursor below the text, so that the terminal is usable whenever the program ends. */
  draw(text: string): void {
    const lines = text.trimEnd().split('\n')
    const up = this.#height === 0 ? '' : `\r${control}${this.#height}A`
    const drawn = lines.map((line) => `${line}${clearRestOfLine}\n`).join('')
    this.#output.write(`${up}${drawn}${clearBelow}`)
    this.#height = lines.length
  }

  /** Clears the `^C` that the terminal may have printed. */
  end(): void {
    if (this.#height > 0) this.#output.write(`\r${clearRestOfLine}`)
  }
}
