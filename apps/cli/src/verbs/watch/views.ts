import { type Host, printable } from '@tenure/app-kit'
import { toJsonLine } from '../../terminal/json.js'
import { lookOf } from '../../terminal/look.js'
import { showInterval } from '../../watch/line.js'
import { Screen } from '../../watch/screen.js'
import { type Frame, showFrame } from './show.js'

/** How what is watched is shown. */
export interface View {
  show(frame: Frame): void
  end(): void
}

/** In place on a terminal, line by line elsewhere, and as JSON for programs. */
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

  /** The terminal may have been made larger or smaller. */
  show(frame: Frame): void {
    const { stdout, env } = this.#host
    const { rows = 24 } = stdout
    this.#screen.draw(showFrame(frame, lookOf(stdout, env), rows - 1))
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
      const line = { at: stats.now, rates, stats, ...(workers && { workers: workers.workers }) }
      this.#host.stdout.write(toJsonLine(line))
    }
  }

  end(): void {}
}

function tell({ stderr }: Host, trouble: string): void {
  stderr.write(`tenure: no answer: ${printable(trouble)}\n`)
}
