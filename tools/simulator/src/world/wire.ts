import {
  type Answer,
  ClientConnection,
  decodeRequest,
  FrameDecoder,
  type Request,
} from '@tenure/protocol'

export interface WireListener {
  asked(request: Request): Statement
}

/** A request, and its answer if one arrived. */
export interface Statement {
  readonly who: string
  readonly request: Request
  /** The last LSN known to any peer at the time of the request, and at the arrival of the answer. */
  readonly fromLsn: number
  toLsn: number
  /** The newest LSN that a checkpoint may have covered when the answer arrived. */
  coveredLsn: number
  answer: Answer | undefined
}

const frameBytesMax = 16 * 2 ** 20

/** Observes one connection at the peer's side: everything seen here has reached the peer. */
export class Wire {
  readonly #listener: WireListener
  readonly #heard: (statement: Statement, answer: Answer) => void
  readonly #requests = new FrameDecoder(frameBytesMax)
  readonly #answers = new ClientConnection()
  readonly #open = new Map<number, Statement>()
  #hasGreeted = false

  constructor(listener: WireListener, heard: (statement: Statement, answer: Answer) => void) {
    this.#listener = listener
    this.#heard = heard
  }

  sent(bytes: Uint8Array): void {
    this.#requests.push(Uint8Array.from(bytes))
    for (let body = this.#requests.next(); body !== undefined; body = this.#requests.next()) {
      if (this.#hasGreeted) this.#ask(body)
      this.#hasGreeted = true
    }
  }

  received(bytes: Uint8Array): void {
    this.#answers.push(Uint8Array.from(bytes))
    for (let reply = this.#answers.next(); reply !== undefined; reply = this.#answers.next()) {
      if (reply.kind !== 'answer') continue
      const statement = this.#open.get(reply.answer.id)
      this.#open.delete(reply.answer.id)
      if (statement !== undefined) this.#heard(statement, reply.answer)
    }
  }

  #ask(body: Uint8Array): void {
    const request = decodeRequest(body)
    if (request.kind !== 'malformed') this.#open.set(request.id, this.#listener.asked(request))
  }
}
