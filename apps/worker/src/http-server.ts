import { type HttpPort, type HttpPortOptions, openHttpPort } from '@tenure/http-port'
import type { Worker } from '@tenure/worker-runtime'

/** Cannot open the HTTP port, most likely because it is taken. A restart may help once it is free. */
export class CannotListen extends Error {
  readonly code = 'WORKER_CANNOT_LISTEN'
}

/** Serves the worker's health, readiness and metrics. */
export async function serveHttp(
  worker: Worker,
  options: Omit<HttpPortOptions, 'pages'>,
): Promise<HttpPort> {
  const pages = {
    '/healthz': () => ({ body: 'alive\n' }),
    '/readyz': () => {
      const { mode, isConnected } = worker
      const isReady = isConnected && (mode === 'leasing' || mode === 'running')
      const body = `${JSON.stringify({ isReady, mode, isConnected })}\n`
      return { status: isReady ? 200 : 503, body, type: 'application/json' }
    },
    '/metrics': async () => {
      const { metrics } = worker
      return { body: await metrics.text(), type: metrics.contentType }
    },
  }
  try {
    return await openHttpPort({ ...options, pages })
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    const remedy =
      'If another program uses this port, stop it, or set --http-port to another port or off.'
    throw new CannotListen(`cannot listen for HTTP requests: ${why}. ${remedy}`, { cause })
  }
}
