import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { AllowedHosts } from './allowed-hosts.js'

import { PageMaker, type Pages, type ReadyPage, ready } from './pages.js'

/** Limits for clients of the port. */
export interface HttpPortLimits {
  /** Maximum number of connections; a further one closes the oldest. */
  readonly connectionsMax: number
  /** Time allowed to send a request, from the moment of connecting. */
  readonly requestMs: number
  /** Time without any data after which a connection is closed. */
  readonly idleMs: number
}

export const defaultHttpPortLimits: HttpPortLimits = {
  connectionsMax: 64,
  requestMs: 5000,
  idleMs: 10_000,
}

export interface HttpPortOptions {
  readonly host: string
  /** 0 picks a free port. */
  readonly port: number
  readonly pages: Pages
  /** Host names to accept, besides `host`, loopback names and IP addresses. */
  readonly allowedHosts?: readonly string[] | undefined
  readonly limits?: Partial<HttpPortLimits>
}

/** A listening port. */
export interface HttpPort {
  readonly port: number
  /** Also closes all connections. */
  close(): Promise<void>
}

/** Maximum interval between timeout checks; it only delays closing. */
const checkMsMax = 1000

/** Starts listening. Rejects with the system's error if that fails. */
export async function openHttpPort(options: HttpPortOptions): Promise<HttpPort> {
  const { host, port, limits } = options
  const { connectionsMax, requestMs, idleMs } = { ...defaultHttpPortLimits, ...limits }
  const server = createServer(
    {
      connectionsCheckingInterval: Math.min(checkMsMax, requestMs),
      headersTimeout: requestMs,
      requestTimeout: requestMs,
    },
    answerWith(options),
  )
  server.timeout = idleMs
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => closeOldest(sockets, socket, connectionsMax))
  await listen(server, host, port)
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

/**
 * Closes the oldest connection at the limit, so that idle connections cannot block the port. A request takes
 * milliseconds, so the oldest connection is the least likely to be active.
 */
function closeOldest(sockets: Set<Socket>, socket: Socket, connectionsMax: number): void {
  sockets.add(socket)
  socket.once('close', () => sockets.delete(socket))
  const [oldest] = sockets
  if (sockets.size <= connectionsMax || oldest === undefined) return
  sockets.delete(oldest)
  oldest.destroy()
}

function answerWith(options: HttpPortOptions) {
  const { host, pages, allowedHosts = [] } = options
  const allowed = new AllowedHosts([host, ...allowedHosts])
  const maker = new PageMaker(pages)
  const look = ({ method = '', url = '', headers }: IncomingMessage) => {
    if (!allowed.allows(headers.host)) return wrongHost(headers.host!)
    if (method !== 'GET' && method !== 'HEAD') return notAllowed
    const [path = ''] = url.split('?')
    return maker.make(path) ?? noPage(Object.keys(pages))
  }
  return async (request: IncomingMessage, response: ServerResponse) => {
    const { status, type, body } = await look(request)
    if (status === 405) response.setHeader('allow', 'GET, HEAD')
    response.writeHead(status, {
      // No keep-alive: a connection lasts for one request only.
      connection: 'close',
      'content-type': type,
      'content-length': body.length,
    })
    response.end(request.method === 'HEAD' ? undefined : body)
  }
}

/** All our processes with such a port use this flag name. */
function wrongHost(host: string): ReadyPage {
  const shown = JSON.stringify(host.slice(0, 100))
  const remedy = 'allow the name with --http-allowed-hosts (option httpAllowedHosts)'
  const body = `the host ${shown} is not allowed; use an IP address or localhost, or ${remedy}\n`
  return ready({ status: 421, body })
}

const notAllowed = ready({ status: 405, body: 'GET and HEAD only\n' })

function noPage(paths: readonly string[]): ReadyPage {
  return ready({ status: 404, body: `not found; the paths are ${paths.join(', ')}\n` })
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      // A failed accept must not stop the process.
      server.on('error', () => {})
      resolve()
    })
  })
}
