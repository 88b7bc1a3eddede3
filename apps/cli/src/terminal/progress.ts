import type { Host, Output } from '@tenure/app-kit'
import { displayOf } from './display.js'
import { countOf, showDuration, showRate } from './format.js'
import { cutTo } from './text.js'

export interface Progress {
  readonly count: number
  readonly elapsedMs: number
  /** The processed part of the input, from 0 to 1, if its length is known. */
  readonly share?: number | undefined
}

/** Count, rate, and the remaining time if the share is known. */
export function showProgress({ count, elapsedMs, share }: Progress, one: string): string {
  const parts = [countOf(count, one), showRate(count, elapsedMs)]
  if (share !== undefined && share > 0) {
    parts.push(
      `${Math.floor(share * 100)} %`,
      `${showDuration((elapsedMs * (1 - share)) / share)} left`,
    )
  }
  return parts.join(', ')
}

const pauseMs = 200
const patienceMs = 1000
const clearLine = '\r\u001b[K'

/** A line that is rewritten in place. Only on a terminal, and only if the work takes long. */
export class ProgressLine {
  readonly #output: Output
  readonly #columns: number
  readonly #now: () => number
  readonly #startedAt: number
  #shownAt: number
  #isShown = false

  constructor({ stderr, env }: Pick<Host, 'stderr' | 'env'>, now = () => performance.now()) {
    this.#now = now
    this.#startedAt = now()
    this.#output = stderr
    this.#columns = displayOf(stderr, env).columns
    this.#shownAt = this.#startedAt + patienceMs - pauseMs
  }

  get elapsedMs(): number {
    return this.#now() - this.#startedAt
  }

  /** Calls `text` only when the line is due to be shown. */
  update(text: (elapsedMs: number) => string): void {
    const now = this.#now()
    if (this.#output.isTTY !== true || now - this.#shownAt < pauseMs) return
    this.#shownAt = now
    this.#isShown = true
    this.#output.write(clearLine + cutTo(this.#columns - 1, text(now - this.#startedAt)))
  }

  clear(): void {
    if (this.#isShown) this.#output.write(clearLine)
    this.#isShown = false
  }
}
