import type { Answer, Limits, RequestKind } from '@tenure/protocol'
import { ByNumber } from '../by-number.js'
import type { TenureError } from '../errors.js'

/** A request that somebody waits for. */
export interface PendingRequest {
  readonly id: number
  readonly kind: RequestKind
  readonly isPoll: boolean
  readonly requestId: string | undefined
  readonly frame: Uint8Array
  /** Asking twice does nothing twice, so it may be sent again after a lost connection. */
  readonly retry: boolean
  /** It may have arrived: without an answer its outcome is not known. */
  readonly wasSent: boolean
  /** Asked whenever the request is about to be sent. */
  readonly maySend: boolean
  /** Told whenever the request is sent. */
  sent(): void
  settle(outcome: Answer | TenureError): void
}

/** What was sent, for whom or for nobody. */
type Sent = PendingRequest | Ownerless

interface Ownerless {
  readonly isPoll: boolean
  readonly id: undefined
}

const ownerless: Ownerless = { isPoll: false, id: undefined }
const ownerlessPoll: Ownerless = { isPoll: true, id: undefined }

/** Requests that are counted together. */
interface Lane {
  readonly queue: ByNumber<PendingRequest>
  inFlight: number
  /** How many may be in flight; 0 without a connection. */
  window: number
}

const idMax = 0xffff_ffff

/**
 * What was asked and not answered, without a socket or a clock. Each request is in one of two places:
 *
 *     queue ──next──▶ in flight ──answered──▶ gone
 *       ▲                 │
 *       └──connectionLost─┘ where it may be sent again; where not, it is given up
 *
 * Lease requests that may wait have a queue and a window of their own, as the coordinator counts
 * them: a heartbeat never stands behind them.
 *
 * Whoever gives up waiting leaves its id in flight, without an owner, until the answer comes: the
 * answer is dropped then, and the coordinator's windows are counted as the coordinator counts them.
 */
export class RequestTable {
  readonly #requests: Lane = { queue: new ByNumber(), inFlight: 0, window: 0 }
  readonly #polls: Lane = { queue: new ByNumber(), inFlight: 0, window: 0 }
  readonly #inFlight = new ByNumber<Sent>()
  #lastId = 0
  /** How many requests the coordinator takes at once; one more than the window, for a probe. */
  #inFlightMax = 0
  /** Of those sent over this connection. An answer to one beyond it was never asked for. */
  #highestSentId = 0

  takeId(): number {
    do this.#lastId = this.#lastId === idMax ? 1 : this.#lastId + 1
    while (this.#inFlight.has(this.#lastId))
    return this.#lastId
  }

  add(request: PendingRequest): void {
    this.#laneOf(request).queue.set(request.id, request)
  }

  /** A connection is there that takes so much at once. One place is kept for a probe. */
  connected(limits: Pick<Limits, 'requestsInFlightMax' | 'pollsPerConnectionMax'>): void {
    this.#inFlightMax = Math.max(1, limits.requestsInFlightMax)
    this.#requests.window = Math.max(1, this.#inFlightMax - 1)
    this.#polls.window = Math.max(1, limits.pollsPerConnectionMax)
  }

  /** The next request to be sent now, if there is one and there is room for it. */
  next(): PendingRequest | undefined {
    const request = firstOf(this.#requests) ?? firstOf(this.#polls)
    if (request === undefined) return undefined
    const lane = this.#laneOf(request)
    lane.queue.delete(request.id)
    this.#send(request.id, request)
    return request
  }

  /** The id of a request that nobody waits for; its answer is a sign of life. */
  probe(): number | undefined {
    if (this.#requests.inFlight >= this.#inFlightMax) return undefined
    const id = this.takeId()
    this.#send(id, ownerless)
    return id
  }

  /**
   * Takes the request out that was answered. `known` is false where nothing was asked. An answer may be
   * duplicated on its way: the second one to a request is known, and nobody's.
   */
  answered(id: number): { readonly known: boolean; readonly request: PendingRequest | undefined } {
    const sent = this.#inFlight.delete(id)
    if (sent === undefined) return { known: id <= this.#highestSentId, request: undefined }
    this.#laneOf(sent).inFlight--
    return { known: true, request: sent.id === undefined ? undefined : sent }
  }

  /** Nobody waits for the request any more. Whether it is in flight, so that its answer will come. */
  abandon(request: PendingRequest): boolean {
    const { id, isPoll } = request
    if (this.#laneOf(request).queue.delete(id) !== undefined) return false
    if (this.#inFlight.get(id) !== request) return false
    this.#inFlight.set(id, isPoll ? ownerlessPoll : ownerless)
    return true
  }

  /** What may be sent again is to be sent first, in its old order; the rest is given out. */
  connectionLost(): PendingRequest[] {
    const lost = this.#inFlight.all().filter((sent) => sent.id !== undefined)
    this.#inFlight.clear()
    this.#inFlightMax = 0
    this.#highestSentId = 0
    for (const lane of [this.#requests, this.#polls]) {
      lane.window = 0
      lane.inFlight = 0
      const again = lost.filter((request) => request.retry && this.#laneOf(request) === lane)
      const queued = lane.queue.all()
      lane.queue.clear()
      for (const request of [...again, ...queued]) lane.queue.set(request.id, request)
    }
    return lost.filter(({ retry }) => !retry)
  }

  /** Takes out everything that somebody waits for and that is not in flight. */
  clearQueue(): PendingRequest[] {
    const queued = [...this.#requests.queue.all(), ...this.#polls.queue.all()]
    this.#requests.queue.clear()
    this.#polls.queue.clear()
    return queued
  }

  #laneOf({ isPoll }: Sent): Lane {
    return isPoll ? this.#polls : this.#requests
  }

  #send(id: number, sent: Sent): void {
    this.#laneOf(sent).inFlight++
    this.#highestSentId = Math.max(this.#highestSentId, id)
    this.#inFlight.set(id, sent)
  }
}

function firstOf({ queue, inFlight, window }: Lane): PendingRequest | undefined {
  return inFlight < window ? queue.first() : undefined
}
