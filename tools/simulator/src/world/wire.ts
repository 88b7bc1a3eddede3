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

/** A request that somebody sent, and the answer that they got to it, if one came. */
export interface Statement {
  readonly who: string
  readonly request: Request
  /** The last record that was applied when it was asked, and when the answer was heard. */
  readonly fromLsn: number
  toLsn: number
  /** The last record that a checkpoint may have covered when it was heard. */
  coveredLsn: number
  answer: Answer | undefined
}

const frameBytesMax = 16 * 2 ** 20

/** Listens in on one connection, at the side of whoever asks: what is said here somebody was told. */
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
