import type { Answer, RequestKind } from '@tenure/protocol'
import type { TenureError } from './errors.js'

/** A request that somebody waits for. */
export interface PendingRequest {
  readonly id: number
  readonly kind: RequestKind
  readonly requestId: string | undefined
  readonly frame: Uint8Array
  /** Asking twice does nothing twice, so it may be sent again after a lost connection. */
  readonly retry: boolean
  /** Asked whenever the request is about to be sent. */
  readonly maySend: (() => boolean) | undefined
  /** Called whenever the request is sent. */
  readonly onSent: ((id: number) => void) | undefined
  settle(outcome: Answer | TenureError): void
  /** It may have arrived: without an answer its outcome is not known. */
  wasSent: boolean
}

const idMax = 0xffff_ffff

/**
 * What was asked and not answered, without a socket or a clock. Each request is in one of two places:
 *
 *     queue ──next──▶ in flight ──answered──▶ gone
 *       ▲                 │
 *       └──connectionLost─┘ where it may be sent again; where not, it is given up
 *
 * Whoever gives up waiting leaves its id in flight, without an owner, until the answer comes: the
 * answer is dropped then, and the coordinator's window is counted as the coordinator counts it.
 */
export class RequestTable {
  #queue = new Set<PendingRequest>()
  readonly #inFlight = new Map<number, PendingRequest | undefined>()
  #lastId = 0
  /** How many may be in flight; 0 without a connection. */
  #window = 0
  #inFlightMax = 0

  takeId(): number {
    do this.#lastId = this.#lastId === idMax ? 1 : this.#lastId + 1
    while (this.#inFlight.has(this.#lastId))
    return this.#lastId
  }

  add(request: PendingRequest): void {
    this.#queue.add(request)
  }

  /** A connection is there that takes so many requests at once. One place is kept for a probe. */
  connected(requestsInFlightMax: number): void {
    this.#inFlightMax = Math.max(1, requestsInFlightMax)
    this.#window = Math.max(1, this.#inFlightMax - 1)
  }

  /** The next request to be sent now, if there is one and there is room for it. */
  next(): PendingRequest | undefined {
    if (this.#inFlight.size >= this.#window) return undefined
    const [request] = this.#queue
    if (request === undefined) return undefined
    this.#queue.delete(request)
    this.#inFlight.set(request.id, request)
    return request
  }

  /** The id of a request that nobody waits for; its answer is a sign of life. */
  probe(): number | undefined {
    if (this.#inFlight.size >= this.#inFlightMax) return undefined
    const id = this.takeId()
    this.#inFlight.set(id, undefined)
    return id
  }

  /** Takes the request out that was answered. `known` is false where nothing was asked. */
  answered(id: number): { readonly known: boolean; readonly request: PendingRequest | undefined } {
    const request = this.#inFlight.get(id)
    return { known: this.#inFlight.delete(id), request }
  }

  /** Nobody waits for the request any more. */
  abandon(request: PendingRequest): void {
    if (this.#queue.delete(request)) return
    if (this.#inFlight.get(request.id) === request) this.#inFlight.set(request.id, undefined)
  }

  /** What may be sent again is to be sent first, in its old order; the rest is given out. */
  connectionLost(): PendingRequest[] {
    this.#window = 0
    this.#inFlightMax = 0
    const lost = [...this.#inFlight.values()].filter((request) => request !== undefined)
    this.#inFlight.clear()
    this.#queue = new Set([...lost.filter(({ retry }) => retry), ...this.#queue])
    return lost.filter(({ retry }) => !retry)
  }

  /** Takes out everything that somebody waits for and that is not in flight. */
  clearQueue(): PendingRequest[] {
    const queued = [...this.#queue]
    this.#queue.clear()
    return queued
  }
}
