import type { Answer, Limits, RequestKind } from '@tenure/protocol'
import type { TenureError } from '../errors.js'
import { IdMap } from '../id-map.js'

/** A request with a waiting caller. */
export interface PendingRequest {
  readonly id: number
  readonly kind: RequestKind
  readonly isPoll: boolean
  readonly requestId: string | undefined
  readonly frame: Uint8Array
  /** Whether the request is idempotent, and may be sent again after a lost connection. */
  readonly retry: boolean
  /** Whether it may have arrived; without an answer its outcome is unknown. */
  readonly wasSent: boolean
  /** Checked each time before the request is sent. */
  readonly maySend: boolean
  /** Called each time the request is sent. */
  sent(): void
  settle(outcome: Answer | TenureError): void
}

/** A sent request, with or without a caller. */
type Sent = PendingRequest | Ownerless

interface Ownerless {
  readonly isPoll: boolean
  readonly id: undefined
}

const ownerless: Ownerless = { isPoll: false, id: undefined }
const ownerlessPoll: Ownerless = { isPoll: true, id: undefined }

/** Requests that share a queue and a limit. */
interface Lane {
  readonly queue: IdMap<PendingRequest>
  inFlight: number
  /** Maximum number in flight; 0 without a connection. */
  window: number
}

const idMax = 0xffff_ffff

/**
 * Unanswered requests; it uses no socket and no clock. Each request is in one of two places:
 *
 *     queue ──next──▶ in flight ──answered──▶ gone
 *       ▲                 │
 *       └──connectionLost─┘ if it may be sent again; otherwise it fails
 *
 * Waiting lease requests have a separate queue and limit, as in the coordinator, so they never delay
 * a heartbeat.
 *
 * When a caller gives up, its id stays in flight without an owner until the answer arrives and is dropped.
 * The coordinator counts the request until then, and so must the client.
 */
export class RequestTable {
  readonly #requests: Lane = { queue: new IdMap(), inFlight: 0, window: 0 }
  readonly #polls: Lane = { queue: new IdMap(), inFlight: 0, window: 0 }
  readonly #inFlight = new IdMap<Sent>()
  #lastId = 0
  /** The coordinator's limit of requests in flight. The window is one less, to leave space for a probe. */
  #inFlightMax = 0
  /** The highest id sent over this connection; an answer with a higher id is a protocol error. */
  #highestSentId = 0

  takeId(): number {
    do this.#lastId = this.#lastId === idMax ? 1 : this.#lastId + 1
    while (this.#inFlight.has(this.#lastId))
    return this.#lastId
  }

  add(request: PendingRequest): void {
    this.#laneOf(request).queue.set(request.id, request)
  }

  /** Applies the limits of a new connection. One request is reserved for a probe. */
  connected(limits: Pick<Limits, 'requestsInFlightMax' | 'pollsPerConnectionMax'>): void {
    this.#inFlightMax = Math.max(1, limits.requestsInFlightMax)
    this.#requests.window = Math.max(1, this.#inFlightMax - 1)
    this.#polls.window = Math.max(1, limits.pollsPerConnectionMax)
  }

  /** Takes the next request to send, if the limits allow one. */
  next(): PendingRequest | undefined {
    const request = firstOf(this.#requests) ?? firstOf(this.#polls)
    if (request === undefined) return undefined
    const lane = this.#laneOf(request)
    lane.queue.delete(request.id)
    this.#send(request.id, request)
    return request
  }

  /** Reserves the id of a probe request, whose answer shows that the peer is alive. */
  probe(): number | undefined {
    if (this.#requests.inFlight >= this.#inFlightMax) return undefined
    const id = this.takeId()
    this.#send(id, ownerless)
    return id
  }

  /**
   * Takes out the answered request. `known` is false when the id was never sent. The network may duplicate an
   * answer: the second one is `known`, but has no request.
   */
  answered(id: number): { readonly known: boolean; readonly request: PendingRequest | undefined } {
    const sent = this.#inFlight.delete(id)
    if (sent === undefined) return { known: id <= this.#highestSentId, request: undefined }
    this.#laneOf(sent).inFlight--
    return { known: true, request: sent.id === undefined ? undefined : sent }
  }

  /** Drops the caller of a request. Returns whether an answer will still arrive. */
  abandon(request: PendingRequest): boolean {
    const { id, isPoll } = request
    if (this.#laneOf(request).queue.delete(id) !== undefined) return false
    if (this.#inFlight.get(id) !== request) return false
    this.#inFlight.set(id, isPoll ? ownerlessPoll : ownerless)
    return true
  }

  /** Puts requests that may be sent again at the front, in order; returns the others. */
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

  /** Removes and returns all queued requests. */
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
