import { ServerConnection } from '@tenure/protocol'
import type { ServerLimits } from './limits.js'
import { Peer, type PeerContext } from './peer.js'
import type { Socket } from './transport.js'
import { TurnEnd } from './turn-end.js'

/** Peers that were refused and are given time to read why. */
const refusedMaxDefault = 100

/** Everybody who is connected, as many as may be. */
export class Peers {
  readonly #context: PeerContext
  readonly #limits: ServerLimits
  readonly #refusedMax: number
  readonly #turnEnd = new TurnEnd()
  readonly #peers = new Set<Peer>()
  readonly #byAddress = new Map<string, number>()
  #refused = 0

  constructor(context: PeerContext, limits: ServerLimits, refusedMax = refusedMaxDefault) {
    this.#context = context
    this.#limits = limits
    this.#refusedMax = refusedMax
  }

  get size(): number {
    return this.#peers.size
  }

  accept(socket: Socket): void {
    const { address } = socket
    const ofAddress = this.#byAddress.get(address) ?? 0
    const { connectionsMax, connectionsPerAddressMax } = this.#limits
    if (this.#peers.size >= connectionsMax || ofAddress >= connectionsPerAddressMax) {
      this.#refuse(socket)
      return
    }
    this.#byAddress.set(address, ofAddress + 1)
    const peer = new Peer(this.#context, this.#turnEnd, socket, () => this.#forget(peer, address))
    this.#peers.add(peer)
  }

  /** Ends connections on which something was begun and not ended in time. */
  checkTime(): void {
    for (const peer of this.#peers) peer.checkTime()
  }

  /** Lets everybody have their answers, then goes. */
  end(): void {
    for (const peer of this.#peers) peer.end()
  }

  destroy(): void {
    for (const peer of this.#peers) peer.destroy()
  }

  #refuse(socket: Socket): void {
    const message = 'there are too many connections'
    this.#context.onViolation(socket.address, 'TOO_MANY', message)
    if (this.#refused >= this.#refusedMax) {
      socket.destroy()
      return
    }
    this.#refused++
    socket.onClose(() => {
      this.#refused--
    })
    socket.write(ServerConnection.farewell('TOO_MANY', message))
    socket.end()
  }

  #forget(peer: Peer, address: string): void {
    if (!this.#peers.delete(peer)) return
    const left = (this.#byAddress.get(address) ?? 1) - 1
    if (left === 0) this.#byAddress.delete(address)
    else this.#byAddress.set(address, left)
  }
}
