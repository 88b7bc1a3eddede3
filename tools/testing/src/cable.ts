import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Owner } from './app-process.js'

/** What lies between two programs, and fails as networks do. */
export class Cable {
  readonly port: number
  readonly #pairs: (readonly [near: Socket, far: Socket])[] = []
  #isCut = false
  #onLoss: (() => void) | undefined

  private constructor(port: number) {
    this.port = port
  }

  /** To the server on this port; clients connect to the cable's own. */
  static async lay(owner: Owner, serverPort: number): Promise<Cable> {
    const server = createServer((near) => cable.#join(near, connect(serverPort, '127.0.0.1')))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const cable = new Cable((server.address() as AddressInfo).port)
    owner.teardown(async () => {
      cable.break()
      server.close()
    })
    return cable
  }

  /** From now on nothing arrives on either side, and neither side is told. */
  cut(): void {
    this.#isCut = true
    for (const socket of this.#pairs.flat()) socket.pause()
  }

  /** What was sent meanwhile arrives now, as it does after a partition. */
  mend(): void {
    this.#isCut = false
    for (const socket of this.#pairs.flat()) socket.resume()
  }

  /** The next bytes from the server are lost, and the connection with them. */
  loseNextAnswer(): Promise<void> {
    return new Promise((resolve) => {
      this.#onLoss = resolve
    })
  }

  /** Every connection ends; new ones can be made. */
  break(): void {
    for (const socket of this.#pairs.splice(0).flat()) socket.destroy()
  }

  #join(near: Socket, far: Socket): void {
    this.#pairs.push([near, far])
    near.on('data', (bytes) => far.write(bytes))
    far.on('data', (bytes) => this.#bringBack(near, bytes))
    for (const [socket, other] of [[near, far] as const, [far, near] as const]) {
      if (this.#isCut) socket.pause()
      socket.on('error', () => {})
      socket.on('close', () => other.destroy())
    }
  }

  #bringBack(near: Socket, bytes: Uint8Array): void {
    if (this.#onLoss === undefined) {
      near.write(bytes)
      return
    }
    this.#onLoss()
    this.#onLoss = undefined
    this.break()
  }
}
