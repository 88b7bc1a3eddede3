import type { WorkDirectory } from './directory.js'
import type { Pace } from './options.js'

/** What is being measured, on standard error, with the time that is probably left. */
export class Progress {
  readonly #startedMs = performance.now()
  readonly #expectedMs: number
  #passedMs = 0
  #shareMs = 0

  /** How long everything is expected to take. */
  constructor(expectedMs: number) {
    this.#expectedMs = expectedMs
  }

  get elapsedMs(): number {
    return performance.now() - this.#startedMs
  }

  /** The next thing begins, of which so much is expected. */
  begin(what: string, expectedMs: number): void {
    this.#passedMs += this.#shareMs
    this.#shareMs = expectedMs
    const { elapsedMs } = this
    // As much slower than expected as it has been so far.
    const factor = this.#passedMs < 3000 ? 1 : elapsedMs / this.#passedMs
    const leftMs = Math.max(0, this.#expectedMs - this.#passedMs) * factor
    process.stderr.write(`${seconds(elapsedMs)} s, ${seconds(leftMs)} s left: ${what}\n`)
  }
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(0).padStart(4)
}

/** What every measurement is given. */
export interface Bench {
  readonly pace: Pace
  readonly directory: WorkDirectory
  readonly progress: Progress
}
