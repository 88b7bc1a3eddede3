import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { freePort, type Place, Server } from '../servers/server.js'
import type { Client, Contender } from './contender.js'

let stands = 0

/**
 * A running contender with an empty directory of its own, and the clients that are connected to it.
 */
export class RunningContender {
  readonly contender: Contender
  readonly place: Place
  readonly server: Server
  readonly #clients: Client[] = []

  private constructor(contender: Contender, place: Place, server: Server) {
    this.contender = contender
    this.place = place
    this.server = server
  }

  static async start(contender: Contender, root: string): Promise<RunningContender> {
    const place = { directory: join(root, `${stands++}`), port: await freePort() }
    mkdirSync(place.directory)
    await contender.prepare?.(place)
    return new RunningContender(contender, place, await Server.start(contender, place))
  }

  get port(): number {
    return this.place.port
  }

  /** Opens this many more connections. */
  async open(connections: number): Promise<readonly Client[]> {
    const opened: Client[] = []
    for (let count = 0; count < connections; count++) {
      opened.push(await this.contender.open(this.port, this.#clients.length + count))
    }
    this.#clients.push(...opened)
    return opened
  }

  /** Stops the server and removes its directory. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()))
    await this.server[Symbol.asyncDispose]()
    rmSync(this.place.directory, { recursive: true, force: true, maxRetries: 10 })
  }
}
