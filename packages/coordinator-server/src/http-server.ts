import { createServer } from 'node:http'
import { CoordinatorError } from './errors.js'
import type { Metrics } from './metrics.js'
import type { RecoveryTimes } from './recovery-times.js'

/** What `/readyz` tells: how long the start took, once requests are served. */
export interface Health extends Partial<RecoveryTimes> {
  /** Whether requests are served. */
  readonly isReady: boolean
  /** While the log is replayed: how much of it. */
  readonly replayed?: { readonly applied: number; readonly total: number }
}

export interface HttpServer {
  readonly port: number
  close(): Promise<void>
}

/** `GET /healthz`, `GET /readyz`, `GET /metrics`, and HEAD of these; nothing else. */
export function serveHttp(
  host: string,
  port: number,
  metrics: Metrics,
  health: () => Health,
): Promise<HttpServer> {
  const server = createServer((request, response) => {
    const reply = (status: number, body: string, type = 'text/plain; charset=utf-8') => {
      response.writeHead(status, {
        'content-type': type,
        'content-length': Buffer.byteLength(body),
        ...(status === 405 && { allow: 'GET, HEAD' }),
      })
      response.end(request.method === 'HEAD' ? '' : body)
    }
    const path = request.url?.split('?')[0]
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      reply(405, 'GET and HEAD only\n')
    } else if (path === '/healthz') {
      reply(200, 'alive\n')
    } else if (path === '/readyz') {
      const state = health()
      reply(state.isReady ? 200 : 503, `${JSON.stringify(state)}\n`, 'application/json')
    } else if (path === '/metrics') {
      metrics.text().then(
        (text) => reply(200, text, metrics.contentType),
        (error: unknown) => reply(500, `${String(error)}\n`),
      )
    } else {
      reply(404, 'there are /healthz, /readyz and /metrics\n')
    }
  })
  server.requestTimeout = 10_000
  server.headersTimeout = 5000
  return new Promise((resolve, reject) => {
    server.once('error', (cause) => {
      reject(
        new CoordinatorError(
          'COORDINATOR_CANNOT_LISTEN',
          `http: ${cause.message}; is a coordinator running already? Else choose another httpPort`,
          { cause },
        ),
      )
    })
    server.listen(port, host, () => {
      // The promise is settled. A connection that could not be accepted is no reason to stop.
      server.on('error', () => {})
      const address = server.address()
      resolve({
        port: typeof address === 'object' && address !== null ? address.port : port,
        close: () =>
          new Promise((closed) => {
            server.close(() => closed())
            server.closeAllConnections()
          }),
      })
    })
  })
}
