import type { Clock } from '@tenure/seams'

/**
 * How long questions may take in one turn of the event loop. One is always answered, so a turn is
 * longer by one question than this, at most.
 */
const turnMs = 0.25

/** How long those that are left then wait, while there is other work. */
const restMs = 5

/**
 * Questions wait here until the requests that have arrived are decided, and are answered a few in
 * a turn of the event loop: however many ask for long lists, a submission or a heartbeat waits for
 * one of them at most, and most of them for none. Who asks takes turns with the others who ask, one
 * question each; the questions of one asker keep their order.
 */
export class QuestionQueue<Question> {
  readonly #clock: Clock
  readonly #isBusy: () => boolean
  readonly #answer: (question: Question) => void
  /** Whose turn it is stands first. */
  readonly #byAsker = new Map<object, Question[]>()
  #isServing = false

  /** `isBusy` says whether there is other work. */
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

  /** Nobody waits for the answers any more. */
  leave(asker: object): void {
    this.#byAsker.delete(asker)
  }

  /** Answers what is left now, however long that takes. */
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

  /** Whether there was one. */
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
