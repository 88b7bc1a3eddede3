import type { Link, NewRequest } from '@tenure/client'
import type { Answer } from '@tenure/protocol'

type WithKind<T, K> = Extract<T, { kind: K }>
export type RequestKind = NewRequest['kind']

/** A request and what came of it. Moments are counted, over everybody who asks. */
export interface Exchange<R extends NewRequest = NewRequest> {
  readonly by: string
  readonly request: R
  readonly asked: number
  /** Infinite and `undefined` when the connection was lost first. */
  readonly answered: number
  readonly answer: Answer | undefined
}

/** Everything that clients asked and were answered: all that can be known from outside. */
export class Transcript {
  readonly #exchanges: Exchange[] = []
  #moment = 0
  #answers = 0
  #waiting: { readonly isEnough: () => boolean; readonly resolve: () => void } | undefined

  get size(): number {
    return this.#answers
  }

  async ask(link: Link, by: string, request: NewRequest): Promise<Answer> {
    const asked = ++this.#moment
    const index = this.#exchanges.push({
      by,
      request,
      asked,
      answered: Number.POSITIVE_INFINITY,
      answer: undefined,
    })
    const answer = await link.request(request)
    const answered = ++this.#moment
    this.#exchanges[index - 1] = { by, request, asked, answered, answer }
    this.#answers++
    if (this.#waiting?.isEnough()) {
      this.#waiting.resolve()
      this.#waiting = undefined
    }
    return answer
  }

  /** Settles with the answer after which there is enough; it is looked at after each. */
  until(isEnough: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting = { isEnough, resolve }
    })
  }

  of<K extends RequestKind>(kind: K): Exchange<WithKind<NewRequest, K>>[] {
    return this.#exchanges.filter(({ request }) => request.kind === kind) as never
  }

  /** The requests whose answer was of this kind. */
  answeredBy<K extends Answer['kind']>(kind: K) {
    return this.#exchanges.filter(({ answer }) => answer?.kind === kind) as (Exchange & {
      readonly answer: WithKind<Answer, K>
    })[]
  }

  /** Those that nobody knows whether they were carried out. */
  get lost(): Exchange[] {
    return this.#exchanges.filter(({ answer }) => answer === undefined)
  }
}
