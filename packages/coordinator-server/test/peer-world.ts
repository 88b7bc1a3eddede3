import { ClientConnection, type Hello, type Reply } from '@tenure/protocol'
import { Gate } from '../src/net/gate.js'
import { defaultLimits, type ServerLimits } from '../src/net/limits.js'
import { Peers } from '../src/net/peers.js'
import type { Active } from '../src/net/standing.js'
import type { Socket } from '../src/net/transport.js'
import { World } from './world.js'

/** A socket whose bytes leave only when the test says so. */
export class StuckSocket implements Socket {
  readonly address = 'here'
  unsentBytes = 0
  writtenBytes = 0
  isPaused = false
  hasEnded = false
  isDestroyed = false
  readonly client = new ClientConnection()
  receive: (bytes: Uint8Array) => void = () => {}
  #onDrain: () => void = () => {}
  #onClose: () => void = () => {}

  onData(callback: (bytes: Uint8Array) => void): void {
    this.receive = callback
  }

  onDrain(callback: () => void): void {
    this.#onDrain = callback
  }

  onClose(callback: () => void): void {
    this.#onClose = callback
  }

  write(bytes: Uint8Array): void {
    this.unsentBytes += bytes.length
    this.writtenBytes += bytes.length
    this.client.push(bytes)
  }

  pause(): void {
    this.isPaused = true
  }

  resume(): void {
    this.isPaused = false
  }

  end(): void {
    this.hasEnded = true
  }

  destroy(): void {
    this.isDestroyed = true
    this.#onClose()
  }

  drain(): void {
    this.unsentBytes = 0
    this.#onDrain()
  }

  /** The messages written since the last call. */
  replies(): Reply[] {
    const replies: Reply[] = []
    for (let reply = this.client.next(); reply !== undefined; reply = this.client.next()) {
      replies.push(reply)
    }
    return replies
  }

  /** The kinds of the messages written since the last call. */
  kinds(): string[] {
    return this.replies().map((reply) => (reply.kind === 'answer' ? reply.answer.kind : reply.kind))
  }
}

/** `msPerLook` advances the connection's clock each time it is read. */
export async function serve(limits: Partial<ServerLimits> = {}, msPerLook = 0) {
  const world = await World.started()
  let slowMs = 0
  const refused: string[] = []
  const welcomeLimits = { payloadBytesMax: 1 << 18, resultBytesMax: 1 << 16, waitMsMax: 1000 }
  const active: Active = {
    role: 'active',
    coordinator: world.coordinator,
    welcome: {
      version: 1,
      epoch: 1,
      leaseDurationMs: 1000,
      heartbeatIntervalMs: 100,
      syncMode: 'always',
      limits: { ...defaultLimits, ...limits, ...welcomeLimits },
      log: 'ab'.repeat(16),
    },
  }
  const peers = new Peers(
    {
      gate: new Gate([]),
      limits: { ...defaultLimits, ...limits },
      now: () => {
        slowMs += msPerLook
        return world.clock.monotonicMs() + slowMs
      },
      soon: (callback) => world.clock.soon(callback),
      onViolation: (_address, _reason, message) => void refused.push(message),
    },
    active,
    { ...defaultLimits, ...limits },
  )
  const accept = () => {
    const socket = new StuckSocket()
    peers.accept(socket)
    return socket
  }
  const greet = async (hello: Partial<Hello> = {}) => {
    const socket = accept()
    socket.receive(ClientConnection.hello({ role: 'admin', name: 'w', capacity: 0, ...hello }))
    await world.clock.settle()
    socket.kinds()
    return socket
  }
  return { world, active, peers, refused, accept, greet }
}
