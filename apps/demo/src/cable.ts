import type { AddressInfo } from 'node:net'
import { connect, createServer, type Server, type Socket } from 'node:net'

/** A network cable between a worker and the coordinator, on which everything can be made to stand still. */
export class Cable {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #isStalled = false

  private constructor(coordinatorPort: number) {
    this.#server = createServer((near) => {
      const far = connect(coordinatorPort, '127.0.0.1')
      this.#join(near, far)
      this.#join(far, near)
    })
  }

  static async lay(coordinatorPort: number): Promise<Cable> {
    const cable = new Cable(coordinatorPort)
    await new Promise<void>((resolve) => cable.#server.listen(0, '127.0.0.1', resolve))
    return cable
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Nothing gets through, and nothing is lost. */
  stall(): void {
    this.#isStalled = true
    for (const socket of this.#sockets) socket.pause()
  }

  resume(): void {
    this.#isStalled = false
    for (const socket of this.#sockets) socket.resume()
  }

  cut(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  #join(from: Socket, to: Socket): void {
    this.#sockets.add(from)
    from.on('data', (bytes) => to.write(bytes))
    // However one side ends, the other learns it as an end.
    from.on('error', () => {})
    from.on('close', () => {
      this.#sockets.delete(from)
      to.destroy()
    })
    if (this.#isStalled) from.pause()
  }
}
