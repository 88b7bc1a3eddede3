/** Whoever has something to do when the work of this turn is done. */
export interface Flushable {
  flush(): void
}

/**
 * The end of the turn, for all peers together: what they were answered leaves then. One callback does for
 * all of them; each for itself costs as much as a tenth of a submission.
 */
export class TurnEnd {
  #waiting: Flushable[] = []

  /** Whoever adds itself twice is called twice. */
  add(one: Flushable): void {
    if (this.#waiting.push(one) === 1) queueMicrotask(this.#run)
  }

  readonly #run = (): void => {
    const waiting = this.#waiting
    this.#waiting = []
    for (const one of waiting) one.flush()
  }
}
