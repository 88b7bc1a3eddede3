import type { Answer, MalformedRequest, Request } from '@tenure/protocol'
import type { Caller } from '../decide/decision.js'
import { isQuery, type Query } from '../queries/queries.js'
import { needsConfirmation } from './confirmation.js'
import type { CoordinatorParts } from './coordinator-parts.js'

/** The parts of the coordinator that a request uses. */
type RequestParts = Pick<CoordinatorParts, 'clock' | 'time' | 'observer' | 'log'>

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
  readonly #parts: RequestParts
  readonly #respond: (answer: Answer) => void
  #isAnswered = false

  constructor(
    parts: RequestParts,
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

  /** Answers without a record. Where the log can be taken over, most answers wait for a confirmation. */
  answer(answer: Answer): void {
    const { log } = this.#parts
    if (log.confirm === undefined || !needsConfirmation(answer)) this.answerDurable(answer)
    else void this.#answerConfirmed(answer, log.confirm())
  }

  async #answerConfirmed(answer: Answer, confirmed: Promise<unknown>): Promise<void> {
    try {
      await confirmed
    } catch {
      // The leadership is lost, which the log reports. Another coordinator may have decided otherwise.
      return
    }
    this.answerDurable(answer)
  }

  /** Answers after the record of the request is durable, or if nothing can contradict the answer. */
  answerDurable(answer: Answer): void {
    this.#isAnswered = true
    const { observer, clock } = this.#parts
    observer.answered?.(this.request.kind, answer, clock.monotonicMs() - this.arrivedMs)
    this.#respond(answer)
  }

  isQuery(): this is PendingRequest<Query> {
    return isQuery(this.request)
  }
}
