import type { Answer, History } from '@tenure/protocol'
import type { HistoryQuery, HistoryReader } from '../history/history-page.js'
import { rejected, rejectedForNow } from '../refusals.js'

/** Maximum number of queued history requests; further ones are rejected with a retry delay. */
const waitingMax = 16
const retryMs = 1000

/**
 * Queues history requests and reads the log for one at a time. When a connection closes, its requests are
 * dropped and its running read is aborted.
 */
export class HistoryQueue {
  readonly #reader: HistoryReader | undefined
  readonly #queryFor: (request: History) => HistoryQuery
  /** The first request is being read while `#reading` is set. */
  readonly #waiting: WaitingRead[] = []
  #reading: AbortController | undefined

  constructor(reader: HistoryReader | undefined, queryFor: (request: History) => HistoryQuery) {
    this.#reader = reader
    this.#queryFor = queryFor
  }

  add(caller: object, request: History, respond: (answer: Answer) => void): void {
    const { id } = request
    if (this.#reader === undefined) {
      respond(rejected(id, 'INTERNAL', 'this coordinator cannot read history'))
    } else if (this.#waiting.length >= waitingMax) {
      const message = 'too many history requests are waiting; retry later'
      respond(rejectedForNow(id, 'OVERLOADED', retryMs, message))
    } else {
      this.#waiting.push({ caller, request, respond })
      this.#readNext(this.#reader)
    }
  }

  leave(caller: object): void {
    const isReadFor = this.#reading !== undefined && this.#waiting[0]?.caller === caller
    const left = this.#waiting.filter((waiting) => waiting.caller !== caller)
    this.#waiting.splice(0, this.#waiting.length, ...left)
    if (isReadFor) this.#reading?.abort()
  }

  /** Aborts the running read and rejects all waiting requests. */
  finish(): void {
    for (const { request, respond } of this.#waiting.splice(0)) {
      respond(rejected(request.id, 'STOPPING'))
    }
    this.#reading?.abort()
  }

  #readNext(reader: HistoryReader): void {
    const [next] = this.#waiting
    if (next === undefined || this.#reading !== undefined) return
    const reading = new AbortController()
    this.#reading = reading
    const settle = (answer: Answer) => {
      this.#reading = undefined
      // Otherwise the connection was closed or the coordinator is stopping.
      if (this.#waiting[0] === next) {
        this.#waiting.shift()
        next.respond(answer)
      }
      this.#readNext(reader)
    }
    const { id } = next.request
    reader.read(this.#queryFor(next.request), reading.signal).then(
      (page) => settle({ kind: 'history', id, ...page }),
      (error) => settle(unreadable(id, error)),
    )
  }
}

function unreadable(id: number, error: unknown): Answer {
  const why = error instanceof Error ? error.message : String(error)
  return rejected(id, 'INTERNAL', `reading the log failed: ${why}`)
}

interface WaitingRead {
  readonly caller: object
  readonly request: History
  readonly respond: (answer: Answer) => void
}
