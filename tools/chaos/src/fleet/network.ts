import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import type { Random } from '@tenure/testing'

/**
 * A port that the coordinator can listen on again after every kill. It is below the range for
 * outgoing connections: otherwise a worker that connects while no server listens may connect to
 * itself, and block the port.
 */
export async function findPort(random: Random): Promise<number> {
  for (;;) {
    const port = lowest + random.integer(count)
    if (await isFree(port)) return port
  }
}

const lowest = 20_000
const count = 10_000

async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  server.listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return false
  }
  server.close()
  await once(server, 'close')
  return true
}

interface Connection {
  readonly near: Socket
  readonly far: Socket
}

/**
 * A proxy between the fleet and its coordinator that forwards bytes until it is told to lose them.
 * Only here can an answer get lost whose record is on the disk: a killed coordinator hardly ever
 * dies between the two.
 */
export class Network {
  readonly #server: Server
  readonly #connections = new Set<Connection>()
  #isStalled = false

  private constructor(server: Server, targetPort: number) {
    this.#server = server
    server.on('connection', (near) => this.#connect(near, targetPort))
  }

  static async open(port: number, targetPort: number): Promise<Network> {
    const server = createServer()
    const network = new Network(server, targetPort)
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    return network
  }

  /** Drops all answers on these connections; call the result to break them. */
  lose(isLost: () => boolean): () => void {
    const lost = [...this.#connections].filter(isLost)
    for (const { near, far } of lost) {
      far.unpipe(near)
      far.resume()
    }
    return () => {
      for (const { near, far } of lost) {
        near.destroy()
        far.destroy()
      }
    }
  }

  /** Stops all traffic in both directions and loses nothing. */
  stall(): void {
    this.#isStalled = true
    for (const connection of this.#connections) stop(connection)
  }

  flow(): void {
    this.#isStalled = false
    for (const connection of this.#connections) start(connection)
  }

  close(): void {
    this.#server.close()
    for (const { near, far } of this.#connections) {
      near.destroy()
      far.destroy()
    }
  }

  #connect(near: Socket, targetPort: number): void {
    const far = connect(targetPort, '127.0.0.1')
    const connection = { near, far }
    this.#connections.add(connection)
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      one.setNoDelay(true)
      one.on('error', () => {})
      one.on('close', () => {
        this.#connections.delete(connection)
        other.destroySoon()
      })
    }
    if (!this.#isStalled) start(connection)
  }
}

function start({ near, far }: Connection): void {
  near.pipe(far)
  far.pipe(near)
}

function stop({ near, far }: Connection): void {
  near.unpipe(far)
  far.unpipe(near)
}
