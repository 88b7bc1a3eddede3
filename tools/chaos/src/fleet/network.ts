import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import type { Random } from '@tenure/testing'

/**
 * A port that the coordinator can come back to after every death. It lies below those that the
 * operating system gives to outgoing connections: a worker that tries to connect to one of these
 * while nobody listens there may be connected to itself, and then nobody can listen there any more.
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

interface Line {
  readonly near: Socket
  readonly far: Socket
}

/**
 * What lies between the fleet and its coordinator: it passes bytes on, until it is told to lose
 * them. Only here an answer can get lost whose record is on the disk: a coordinator that is killed
 * hardly ever dies between the two.
 */
export class Network {
  readonly #server: Server
  readonly #lines = new Set<Line>()
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

  /** Of these lines no answer comes through any more; what it gives breaks them. */
  lose(isLost: () => boolean): () => void {
    const lost = [...this.#lines].filter(isLost)
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

  /** Nothing passes, in no direction, and nothing is lost. */
  stall(): void {
    this.#isStalled = true
    for (const line of this.#lines) stop(line)
  }

  flow(): void {
    this.#isStalled = false
    for (const line of this.#lines) start(line)
  }

  close(): void {
    this.#server.close()
    for (const { near, far } of this.#lines) {
      near.destroy()
      far.destroy()
    }
  }

  #connect(near: Socket, targetPort: number): void {
    const far = connect(targetPort, '127.0.0.1')
    const line = { near, far }
    this.#lines.add(line)
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      one.setNoDelay(true)
      one.on('error', () => {})
      one.on('close', () => {
        this.#lines.delete(line)
        other.destroySoon()
      })
    }
    if (!this.#isStalled) start(line)
  }
}

function start({ near, far }: Line): void {
  near.pipe(far)
  far.pipe(near)
}

function stop({ near, far }: Line): void {
  near.unpipe(far)
  far.unpipe(near)
}
