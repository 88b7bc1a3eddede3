import type { Link, NewRequest } from '@tenure/client'
import type { Answer } from '@tenure/protocol'

type WithKind<T, K> = Extract<T, { kind: K }>
export type RequestKind = NewRequest['kind']

/** A request and its outcome. Events are numbered across all clients. */
export interface Exchange<R extends NewRequest = NewRequest> {
  readonly by: string
  readonly request: R
  readonly asked: number
  /** Infinite and `undefined` when the connection was lost first. */
  readonly answered: number
  readonly answer: Answer | undefined
}

/** All requests and answers of all clients: everything that can be known from outside. */
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

  /** Resolves with the first answer that satisfies the condition, checked after each. */
  until(isEnough: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting = { isEnough, resolve }
    })
  }

  of<K extends RequestKind>(kind: K): Exchange<WithKind<NewRequest, K>>[] {
    return this.#exchanges.filter(({ request }) => request.kind === kind) as never
  }

  /** The requests with an answer of this kind. */
  answeredBy<K extends Answer['kind']>(kind: K) {
    return this.#exchanges.filter(({ answer }) => answer?.kind === kind) as (Exchange & {
      readonly answer: WithKind<Answer, K>
    })[]
  }

  /** Requests with an unknown outcome. */
  get lost(): Exchange[] {
    return this.#exchanges.filter(({ answer }) => answer === undefined)
  }
}
