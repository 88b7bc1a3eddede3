import type { Clock } from '@tenure/seams'

/** Time for queries per event loop turn. At least one is answered, so a turn may exceed this by one query. */
const turnMs = 0.25

/** Pause between turns while there is other work. */
const restMs = 5

/**
 * Delays queries until the requests that have arrived are decided, and answers a few per event loop turn.
 * However many clients request long lists, a submission or a heartbeat waits for at most one query.
 * Round-robin over connections; each connection's queries keep their order.
 */
export class QuestionQueue<Question> {
  readonly #clock: Clock
  readonly #isBusy: () => boolean
  readonly #answer: (question: Question) => void
  /** In round-robin order; the first connection is next. */
  readonly #byAsker = new Map<object, Question[]>()
  #isServing = false

  /** `isBusy` tells whether there is other work. */
  constructor(clock: Clock, isBusy: () => boolean, answer: (question: Question) => void) {
    this.#clock = clock
    this.#isBusy = isBusy
    this.#answer = answer
  }

  add(asker: object, question: Question): void {
    const waiting = this.#byAsker.get(asker)
    if (waiting === undefined) this.#byAsker.set(asker, [question])
    else waiting.push(question)
    this.#serveLater(0)
  }

  /** Drops the queries of a closed connection. */
  leave(asker: object): void {
    this.#byAsker.delete(asker)
  }

  /** Answers all remaining queries now, without a time limit. */
  finish(): void {
    while (this.#answerNext());
  }

  #serveLater(delayMs: number): void {
    if (this.#isServing || this.#byAsker.size === 0) return
    this.#isServing = true
    const serve = () => {
      this.#isServing = false
      this.#serve()
      this.#serveLater(this.#isBusy() ? restMs : 0)
    }
    if (delayMs === 0) this.#clock.soon(serve)
    else this.#clock.setTimer(delayMs, serve)
  }

  #serve(): void {
    const startedAt = this.#clock.monotonicMs()
    while (this.#answerNext() && this.#clock.monotonicMs() - startedAt < turnMs);
  }

  /** Returns whether there was a query to answer. */
  #answerNext(): boolean {
    for (const [asker, questions] of this.#byAsker) {
      const question = questions.shift()!
      this.#byAsker.delete(asker)
      if (questions.length > 0) this.#byAsker.set(asker, questions)
      this.#answer(question)
      return true
    }
    return false
  }
}
