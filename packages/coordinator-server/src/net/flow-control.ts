import type { ServerLimits } from './limits.js'
import type { Socket } from './transport.js'

/** How many requests are answered in one turn, of those that nothing has to be waited for, */
const answersPerTurn = 64

/** and for how long: some questions look at thousands of tasks. */
const turnMs = 5

/**
 * How many questions of one connection wait for their turn; of one to which something still has to
 * leave only one, so that nobody makes long lists who does not read them.
 */
const questionsMax = 4

/** With more than this waiting to leave, nothing more is taken, */
const unsentBytesHigh = 1024 * 1024

/** nor with more than this in requests that wait for the disk, or for one another. */
const unansweredBytesHigh = 16 * 1024 * 1024

/** What may arrive beyond what is taken, so that the end behind it is still seen. */
const heldBytesMax = 64 * 1024

/** A request by what it costs until it is answered. */
export interface Load {
  readonly isQuestion: boolean
  /** Those of polls do not count: they are few, and may wait for long. */
  readonly bytes: number
}

/** What is asked about a connection, beside its socket. */
interface Connection {
  /** Whether as many requests as may be have no answer yet. */
  readonly isFull: boolean
}

/**
 * How fast one connection is served. Everything that bounds it is counted here:
 *
 *     arrived ──────▶ taken ───────────▶ answered ──────▶ written ──────▶ left
 *       │               │                   │                │
 *       held bytes      requests, bytes,    answers, time    unsent bytes
 *                       questions           of this turn
 *
 * Beyond a bound nothing is taken, and when much has arrived that is not taken the socket is paused. A
 * peer that lets nothing leave for long is deaf.
 */
export class FlowControl {
  readonly #limits: ServerLimits
  readonly #connection: Connection
  readonly #socket: Socket
  #heldBytes = 0
  #isPaused = false
  #questions = 0
  #unansweredBytes = 0
  #answersInTurn = 0
  #turnBeganMs = 0
  #isTurnOver = false
  /** Answered, and not yet written to the socket. */
  #outgoingBytes = 0
  #writtenBytes = 0
  /** How much had left when that was last seen to change, and when. */
  #left: { readonly bytes: number; readonly atMs: number }

  constructor(limits: ServerLimits, connection: Connection, socket: Socket, nowMs: number) {
    this.#limits = limits
    this.#connection = connection
    this.#socket = socket
    this.#left = { bytes: 0, atMs: nowMs }
  }

  /** Whether a request that has arrived may be taken. */
  get mayTake(): boolean {
    const unsentBytes = this.#outgoingBytes + this.#socket.unsentBytes
    if (this.#isTurnOver || this.#connection.isFull) return false
    if (this.#unansweredBytes > unansweredBytesHigh) return false
    if (this.#questions >= (unsentBytes === 0 ? questionsMax : 1)) return false
    return unsentBytes <= Math.min(unsentBytesHigh, this.#limits.unsentBytesMax)
  }

  get isPaused(): boolean {
    return this.#isPaused
  }

  arrived(bytes: number): void {
    if (!this.mayTake) this.#heldBytes += bytes
  }

  taken({ isQuestion, bytes }: Load): void {
    if (isQuestion) this.#questions++
    this.#unansweredBytes += bytes
  }

  answered({ isQuestion, bytes }: Load): void {
    if (isQuestion) this.#questions--
    this.#unansweredBytes -= bytes
  }

  /** Bytes of an answer wait for the end of the turn. */
  outgoing(bytes: number): void {
    this.#outgoingBytes += bytes
  }

  /** They have been written to the socket. */
  written(): void {
    this.#writtenBytes += this.#outgoingBytes
    this.#outgoingBytes = 0
  }

  /** Counts the answers, and the time, from here. */
  beginTurn(nowMs: number): void {
    this.#answersInTurn = 0
    this.#turnBeganMs = nowMs
  }

  /**
   * A request was answered at once: nothing that is unanswered bounds that, or what it costs. True when
   * that was enough for one turn: nothing is taken until `nextTurn`.
   */
  answeredAtOnce(nowMs: number): boolean {
    this.#answersInTurn++
    const isLong = this.#answersInTurn === answersPerTurn || nowMs - this.#turnBeganMs >= turnMs
    if (isLong || !this.mayTake) this.#isTurnOver = true
    return this.#isTurnOver
  }

  nextTurn(): void {
    this.#isTurnOver = false
  }

  /** To be called when as much has been taken as may be. */
  pauseOrResume(): void {
    if (this.mayTake) this.#heldBytes = 0
    const isPaused = this.#heldBytes >= heldBytesMax
    if (isPaused === this.#isPaused) return
    this.#isPaused = isPaused
    if (isPaused) this.#socket.pause()
    else this.#socket.resume()
  }

  /** Much is unsent, and for long nothing of it has left. How much it is says nothing alone. */
  isDeaf(nowMs: number): boolean {
    const { unsentBytesMax, deafMs } = this.#limits
    const { unsentBytes } = this.#socket
    const bytes = this.#writtenBytes - unsentBytes
    if (unsentBytes <= unsentBytesMax || bytes !== this.#left.bytes) {
      this.#left = { bytes, atMs: nowMs }
      return false
    }
    return nowMs - this.#left.atMs >= deafMs
  }
}
