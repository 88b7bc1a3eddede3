import type { Answer, History } from '@tenure/protocol'
import type { HistoryQuery, HistoryReader } from '../history/history-page.js'
import { notNow, rejected } from '../refusals.js'

/** How many wait for their page at once, and how long one more should stay away. */
const waitingMax = 16
const retryMs = 1000

/**
 * Whoever asks what the log holds about a task waits here, while the log is read for one of them at a
 * time. Who leaves is waited for no more, and what was being read for them is given up.
 */
export class Histories {
  readonly #reader: HistoryReader | undefined
  readonly #queryFor: (request: History) => HistoryQuery
  /** The first one's page is being read, while `#reading` is there. */
  readonly #waiting: Waiting[] = []
  #reading: AbortController | undefined

  constructor(reader: HistoryReader | undefined, queryFor: (request: History) => HistoryQuery) {
    this.#reader = reader
    this.#queryFor = queryFor
  }

  add(asker: object, request: History, respond: (answer: Answer) => void): void {
    const { id } = request
    if (this.#reader === undefined) {
      respond(rejected(id, 'INTERNAL', 'this coordinator has no way to read its log again'))
    } else if (this.#waiting.length >= waitingMax) {
      const message = 'too many wait for the log to be read; come back later'
      respond(notNow(id, 'OVERLOADED', retryMs, message))
    } else {
      this.#waiting.push({ asker, request, respond })
      this.#readNext(this.#reader)
    }
  }

  leave(asker: object): void {
    const isReadFor = this.#reading !== undefined && this.#waiting[0]?.asker === asker
    const left = this.#waiting.filter((waiting) => waiting.asker !== asker)
    this.#waiting.splice(0, this.#waiting.length, ...left)
    if (isReadFor) this.#reading?.abort()
  }

  /** Nothing is read any more, and whoever waits is told so. */
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
      // Unless whoever asked has left, or all were sent away.
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
  return rejected(id, 'INTERNAL', `the log could not be read: ${why}`)
}

interface Waiting {
  readonly asker: object
  readonly request: History
  readonly respond: (answer: Answer) => void
}
