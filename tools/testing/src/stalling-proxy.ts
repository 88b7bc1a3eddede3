import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Owner } from './app-process.js'

/** A TCP proxy between two programs that fails as networks do. */
export class StallingProxy {
  readonly port: number
  readonly #pairs: (readonly [near: Socket, far: Socket])[] = []
  #isStalled = false
  #onLoss: (() => void) | undefined

  private constructor(port: number) {
    this.port = port
  }

  /** Forwards connections from its own port to the server's. */
  static async open(owner: Owner, serverPort: number): Promise<StallingProxy> {
    const server = createServer((near) => proxy.#join(near, connect(serverPort, '127.0.0.1')))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const proxy = new StallingProxy((server.address() as AddressInfo).port)
    owner.teardown(async () => {
      proxy.disconnect()
      server.close()
    })
    return proxy
  }

  /** Stops forwarding in both directions; the connections stay open. */
  stall(): void {
    this.#isStalled = true
    for (const socket of this.#pairs.flat()) socket.pause()
  }

  /** Forwards again, beginning with the data sent during the stall. */
  resume(): void {
    this.#isStalled = false
    for (const socket of this.#pairs.flat()) socket.resume()
  }

  /** Drops the next bytes from the server and closes all connections. Resolves when that has happened. */
  loseNextAnswer(): Promise<void> {
    return new Promise((resolve) => {
      this.#onLoss = resolve
    })
  }

  /** Closes all connections; clients may connect again. */
  disconnect(): void {
    for (const socket of this.#pairs.splice(0).flat()) socket.destroy()
  }

  #join(near: Socket, far: Socket): void {
    this.#pairs.push([near, far])
    near.on('data', (bytes) => far.write(bytes))
    far.on('data', (bytes) => this.#returnBytes(near, bytes))
    for (const [socket, other] of [[near, far] as const, [far, near] as const]) {
      if (this.#isStalled) socket.pause()
      socket.on('error', () => {})
      socket.on('close', () => other.destroy())
    }
  }

  #returnBytes(near: Socket, bytes: Uint8Array): void {
    if (this.#onLoss === undefined) {
      near.write(bytes)
      return
    }
    this.#onLoss()
    this.#onLoss = undefined
    this.disconnect()
  }
}
