import type { ServerLimits } from './limits.js'
import type { Socket } from './transport.js'

/** Maximum number of immediate answers to one connection per turn. */
const answersPerTurn = 64

/** Maximum time per turn; a query may scan thousands of tasks. */
const turnMs = 5

/**
 * Maximum number of queued queries per connection. It is 1 while answers are unsent, so that a client that
 * does not read cannot make the coordinator build long lists.
 */
const queriesMax = 4

/** Above this many unsent bytes, take no more requests from the peer. */
const unsentBytesHigh = 1024 * 1024

/** Above this many bytes of unanswered requests, take no more requests from the peer. */
const unansweredBytesHigh = 16 * 1024 * 1024

/** Bytes to receive without processing before the socket is paused. Reading this far still detects a close. */
const heldBytesMax = 64 * 1024

/** The cost of a request until it is answered. */
export interface Load {
  readonly isQuery: boolean
  /** 0 for polls: they are few and may wait for long. */
  readonly bytes: number
}

/** The part of the protocol connection that flow control reads. */
interface Connection {
  /** Whether the limit of unanswered requests is reached. */
  readonly isFull: boolean
}

/**
 * Limits how fast one connection is served. These are the stages of a request and their limits:
 *
 *     arrived ──────▶ taken ───────────▶ answered ──────▶ written ──────▶ left
 *       │               │                   │                │
 *       held bytes      requests, bytes,    answers, time    unsent bytes
 *                       queries             of this turn
 *
 * At a limit no more requests are taken. The socket is paused when too much arrives meanwhile. A peer that
 * reads nothing for `slowReaderMs` is disconnected.
 */
export class FlowControl {
  readonly #limits: ServerLimits
  readonly #connection: Connection
  readonly #socket: Socket
  #heldBytes = 0
  #isPaused = false
  #queries = 0
  #unansweredBytes = 0
  #answersInTurn = 0
  #turnBeganMs = 0
  #isTurnOver = false
  /** Bytes answered but not yet written to the socket. */
  #outgoingBytes = 0
  #writtenBytes = 0
  /** Bytes that have left the process, and when that last changed. */
  #left: { readonly bytes: number; readonly atMs: number }

  constructor(limits: ServerLimits, connection: Connection, socket: Socket, nowMs: number) {
    this.#limits = limits
    this.#connection = connection
    this.#socket = socket
    this.#left = { bytes: 0, atMs: nowMs }
  }

  /** Whether the next request may be taken. */
  get mayTake(): boolean {
    const unsentBytes = this.#outgoingBytes + this.#socket.unsentBytes
    if (this.#isTurnOver || this.#connection.isFull) return false
    if (this.#unansweredBytes > unansweredBytesHigh) return false
    if (this.#queries >= (unsentBytes === 0 ? queriesMax : 1)) return false
    return unsentBytes <= Math.min(unsentBytesHigh, this.#limits.unsentBytesMax)
  }

  get isPaused(): boolean {
    return this.#isPaused
  }

  arrived(bytes: number): void {
    if (!this.mayTake) this.#heldBytes += bytes
  }

  taken({ isQuery, bytes }: Load): void {
    if (isQuery) this.#queries++
    this.#unansweredBytes += bytes
  }

  answered({ isQuery, bytes }: Load): void {
    if (isQuery) this.#queries--
    this.#unansweredBytes -= bytes
  }

  /** Counts bytes of an answer that are written at the end of the turn. */
  outgoing(bytes: number): void {
    this.#outgoingBytes += bytes
  }

  /** Counts the outgoing bytes as written to the socket. */
  written(): void {
    this.#writtenBytes += this.#outgoingBytes
    this.#outgoingBytes = 0
  }

  /** Starts a new turn for counting answers and time. */
  beginTurn(nowMs: number): void {
    this.#answersInTurn = 0
    this.#turnBeganMs = nowMs
  }

  /**
   * Counts an immediate answer, which the limits on unanswered requests do not cover. Returns true when the turn
   * is over: no request is taken until `nextTurn`.
   */
  answeredImmediately(nowMs: number): boolean {
    this.#answersInTurn++
    const isLong = this.#answersInTurn === answersPerTurn || nowMs - this.#turnBeganMs >= turnMs
    if (isLong || !this.mayTake) this.#isTurnOver = true
    return this.#isTurnOver
  }

  nextTurn(): void {
    this.#isTurnOver = false
  }

  /** Pauses or resumes the socket. Call it after taking requests. */
  pauseOrResume(): void {
    if (this.mayTake) this.#heldBytes = 0
    const isPaused = this.#heldBytes >= heldBytesMax
    if (isPaused === this.#isPaused) return
    this.#isPaused = isPaused
    if (isPaused) this.#socket.pause()
    else this.#socket.resume()
  }

  /** Whether the send buffer is over its limit and has not drained for `slowReaderMs`. */
  isSlowReader(nowMs: number): boolean {
    const { unsentBytesMax, slowReaderMs } = this.#limits
    const { unsentBytes } = this.#socket
    const bytes = this.#writtenBytes - unsentBytes
    if (unsentBytes <= unsentBytesMax || bytes !== this.#left.bytes) {
      this.#left = { bytes, atMs: nowMs }
      return false
    }
    return nowMs - this.#left.atMs >= slowReaderMs
  }
}
