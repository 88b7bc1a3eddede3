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
export class QueryQueue<Query> {
  readonly #clock: Clock
  readonly #isBusy: () => boolean
  readonly #answer: (query: Query) => void
  /** In round-robin order; the first connection is next. */
  readonly #byCaller = new Map<object, Query[]>()
  #isServing = false

  /** `isBusy` tells whether there is other work. */
  constructor(clock: Clock, isBusy: () => boolean, answer: (query: Query) => void) {
    this.#clock = clock
    this.#isBusy = isBusy
    this.#answer = answer
  }

  add(caller: object, query: Query): void {
    const waiting = this.#byCaller.get(caller)
    if (waiting === undefined) this.#byCaller.set(caller, [query])
    else waiting.push(query)
    this.#serveLater(0)
  }

  /** Drops the queries of a closed connection. */
  leave(caller: object): void {
    this.#byCaller.delete(caller)
  }

  /** Answers all remaining queries now, without a time limit. */
  finish(): void {
    while (this.#answerNext());
  }

  #serveLater(delayMs: number): void {
    if (this.#isServing || this.#byCaller.size === 0) return
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
    for (const [caller, queries] of this.#byCaller) {
      const query = queries.shift()!
      this.#byCaller.delete(caller)
      if (queries.length > 0) this.#byCaller.set(caller, queries)
      this.#answer(query)
      return true
    }
    return false
  }
}
