import type { Answer, MalformedRequest, Request } from '@tenure/protocol'
import type { Caller } from '../decide/decision.js'
import { isQuery, type Query } from '../queries/queries.js'
import type { CoordinatorParts } from './coordinator-parts.js'

/** A connection, with the name from its hello. */
export interface Session {
  readonly name: string
}

/** A request from its arrival to its answer. */
export class PendingRequest<R extends Request | MalformedRequest = Request | MalformedRequest>
  implements Caller
{
  readonly request: R
  readonly session: Session
  /** In decision time. */
  readonly arrivedAt: number
  /** On the monotonic clock. */
  readonly arrivedMs: number
  readonly #parts: Pick<CoordinatorParts, 'clock' | 'time' | 'observer'>
  readonly #respond: (answer: Answer) => void
  #isAnswered = false

  constructor(
    parts: Pick<CoordinatorParts, 'clock' | 'time' | 'observer'>,
    request: R,
    session: Session,
    respond: (answer: Answer) => void,
  ) {
    this.#parts = parts
    this.request = request
    this.session = session
    this.#respond = respond
    this.arrivedMs = parts.clock.monotonicMs()
    this.arrivedAt = parts.time.at(this.arrivedMs)
  }

  get name(): string {
    return this.session.name
  }

  get isAnswered(): boolean {
    return this.#isAnswered
  }

  answer(answer: Answer): void {
    this.#isAnswered = true
    const { observer, clock } = this.#parts
    observer.answered?.(this.request.kind, answer, clock.monotonicMs() - this.arrivedMs)
    this.#respond(answer)
  }

  isQuery(): this is PendingRequest<Query> {
    return isQuery(this.request)
  }
}
