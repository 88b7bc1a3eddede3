import { once } from 'node:events'
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { Test } from 'tap'
import { type HttpPort, type HttpPortOptions, openHttpPort } from '../src/index.js'

export async function open(t: Test, options: Partial<HttpPortOptions> = {}): Promise<HttpPort> {
  const pages = {
    '/healthz': () => ({ body: 'alive\n' }),
    '/readyz': async () => ({ status: 503, body: '{}\n', type: 'application/json' }),
  }
  const port = await openHttpPort({ host: '127.0.0.1', port: 0, pages, ...options })
  t.teardown(() => port.close())
  return port
}

export interface Reply {
  readonly status: number | undefined
  readonly headers: { readonly [name: string]: unknown }
  readonly body: string
}

export function ask({ port }: HttpPort, path: string, method = 'GET', host?: string) {
  return new Promise<Reply>((resolve, reject) => {
    const headers = host === undefined ? {} : { host }
    const asked = request({ host: '127.0.0.1', port, path, method, headers })
    asked.on('error', reject)
    asked.on('response', async (response) => {
      const chunks = await response.toArray()
      const { statusCode: status, headers } = response
      resolve({ status, headers, body: Buffer.concat(chunks).toString() })
    })
    asked.end()
  })
}

/** A connection that the test controls. */
export class Peer {
  readonly socket: Socket
  readonly closed: Promise<void>
  readonly #received: Buffer[] = []

  constructor({ port }: HttpPort) {
    this.socket = connect(port, '127.0.0.1')
    this.socket.on('error', () => {})
    this.closed = new Promise((resolve) => this.socket.on('close', () => resolve()))
  }

  static async open(port: HttpPort): Promise<Peer> {
    const peer = new Peer(port)
    await once(peer.socket, 'connect')
    return peer
  }

  /** Everything received, once the port has closed the connection. */
  async heard(): Promise<string> {
    this.socket.on('data', (bytes) => this.#received.push(bytes))
    await this.closed
    return Buffer.concat(this.#received).toString()
  }
}
