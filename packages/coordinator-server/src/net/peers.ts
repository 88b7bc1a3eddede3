import { ServerConnection } from '@tenure/protocol'
import type { ServerLimits } from './limits.js'
import { Peer, type PeerContext, TurnEnd } from './peer.js'
import type { Active, Standing } from './standing.js'
import type { Socket } from './transport.js'

export interface PeersOptions {
  /** Default: a new counter. */
  readonly connections?: ConnectionCount
  /** Maximum number of rejected connections kept open to deliver the rejection. Default 100. */
  readonly refusedMax?: number
}

/** The connected peers, up to the configured limits. A standby has none. */
export class Peers {
  readonly #context: PeerContext
  readonly #limits: ServerLimits
  readonly #connections: ConnectionCount
  readonly #refusedMax: number
  readonly #turnEnd = new TurnEnd()
  readonly #peers = new Set<Peer>()
  #standing: Standing
  #paused: Active | undefined
  #refused = 0

  constructor(
    context: PeerContext,
    standing: Standing,
    limits: ServerLimits,
    options: PeersOptions = {},
  ) {
    const { connections = new ConnectionCount(), refusedMax = 100 } = options
    this.#context = context
    this.#standing = standing
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
    if (connections.size >= connectionsMax) {
      this.#refuse(socket, 'too many connections (connectionsMax)')
      return
    }
    if (connections.from(address) >= connectionsPerAddressMax) {
      this.#refuse(socket, 'too many connections from this address (connectionsPerAddressMax)')
      return
    }
    connections.add(address)
    const standing = () => this.#standing
    const onClosed = () => this.#forget(peer, address)
    const peer = new Peer(this.#context, standing, this.#turnEnd, socket, onClosed)
    this.#peers.add(peer)
  }

  /**
   * A coordinator that becomes a standby closes every connection with NOT_ACTIVE, and from then on rejects every
   * hello. When it becomes active, hellos are judged by the gate again.
   */
  setStanding(standing: Standing): void {
    this.#standing = standing
    if (standing.role === 'active') return
    for (const peer of this.#peers) peer.stepDown(standing)
  }

  /** A paused coordinator serves no requests until it is told that it still leads. */
  pause(isPaused: boolean): void {
    if (isPaused && this.#standing.role === 'active') {
      this.#paused = this.#standing
      this.setStanding({ role: 'standby' })
    } else if (!isPaused && this.#paused !== undefined) {
      this.setStanding(this.#paused)
      this.#paused = undefined
    }
  }

  /** A standby tells clients the address of the active coordinator. */
  noteActive(active: string | undefined): void {
    if (this.#standing.role === 'standby' && this.#paused === undefined) {
      this.#standing = { role: 'standby', active }
    }
  }

  get role(): Standing['role'] {
    return this.#standing.role
  }

  /** Closes connections that have timed out. */
  checkTime(): void {
    for (const peer of this.#peers) peer.checkTime()
  }

  /** Closes all connections after their answers are sent. */
  end(): void {
    for (const peer of this.#peers) peer.end()
  }

  destroy(): void {
    for (const peer of this.#peers) peer.destroy()
  }

  #refuse(socket: Socket, message: string): void {
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

/** Counts connections, in total and per address. */
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
