import type { Host, Output } from '@tenure/app-kit'
import { countOf, showRate, showSpan } from './figures.js'
import { lookOf } from './look.js'
import { cutTo } from './text.js'

export interface Progress {
  readonly count: number
  readonly elapsedMs: number
  /** How much of the input has been dealt with, from 0 to 1; where its length is known. */
  readonly share?: number | undefined
}

/** How far it is, how fast, and for how long it will go on. */
export function showProgress({ count, elapsedMs, share }: Progress, one: string): string {
  const parts = [countOf(count, one), showRate(count, elapsedMs)]
  if (share !== undefined && share > 0) {
    parts.push(
      `${Math.floor(share * 100)} %`,
      `${showSpan((elapsedMs * (1 - share)) / share)} left`,
    )
  }
  return parts.join(', ')
}

const pauseMs = 200
const patienceMs = 1000
const clearLine = '\r\u001b[K'

/** A line on a terminal that is written over and over; elsewhere, and of what is done soon, there is none. */
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
    this.#columns = lookOf(stderr, env).columns
    this.#shownAt = this.#startedAt + patienceMs - pauseMs
  }

  get elapsedMs(): number {
    return this.#now() - this.#startedAt
  }

  /** The text is only made when it is time to show it. */
  update(text: (elapsedMs: number) => string): void {
    const now = this.#now()
    if (this.#output.isTTY !== true || now - this.#shownAt < pauseMs) return
    this.#shownAt = now
    this.#isShown = true
    this.#output.write(clearLine + cutTo(this.#columns - 1, text(now - this.#startedAt)))
  }

  /** Leaves the place to what is said next. */
  clear(): void {
    if (this.#isShown) this.#output.write(clearLine)
    this.#isShown = false
  }
}
