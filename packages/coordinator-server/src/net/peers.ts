import { ServerConnection } from '@tenure/protocol'
import type { ServerLimits } from './limits.js'
import { Peer, type PeerContext, TurnEnd } from './peer.js'
import type { Socket } from './transport.js'

export interface PeersOptions {
  /** Default: its own. */
  readonly connections?: ConnectionCount
  /** Peers that were refused and are given time to read why. Default 100. */
  readonly refusedMax?: number
}

/** Everybody who is connected, as many as may be. */
export class Peers {
  readonly #context: PeerContext
  readonly #limits: ServerLimits
  readonly #connections: ConnectionCount
  readonly #refusedMax: number
  readonly #turnEnd = new TurnEnd()
  readonly #peers = new Set<Peer>()
  #refused = 0

  constructor(context: PeerContext, limits: ServerLimits, options: PeersOptions = {}) {
    const { connections = new ConnectionCount(), refusedMax = 100 } = options
    this.#context = context
    this.#limits = limits
    this.#connections = connections
    this.#refusedMax = refusedMax
  }

  get size(): number {
    return this.#peers.size
  }

  accept(socket: Socket): void {
    const { address } = socket
    const { connectionsMax, connectionsPerAddressMax } = this.#limits
    const connections = this.#connections
    if (
      connections.size >= connectionsMax ||
      connections.from(address) >= connectionsPerAddressMax
    ) {
      this.#refuse(socket)
      return
    }
    connections.add(address)
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
    if (this.#peers.delete(peer)) this.#connections.remove(address)
  }
}

/** How many connections there are, in all and from each address. */
export class ConnectionCount {
  readonly #byAddress = new Map<string, number>()
  #size = 0

  get size(): number {
    return this.#size
  }

  from(address: string): number {
    return this.#byAddress.get(address) ?? 0
  }

  add(address: string): void {
    this.#size++
    this.#byAddress.set(address, this.from(address) + 1)
  }

  remove(address: string): void {
    this.#size--
    const left = this.from(address) - 1
    if (left === 0) this.#byAddress.delete(address)
    else this.#byAddress.set(address, left)
  }
}
