import { type HttpPort, type HttpPortOptions, openHttpPort } from '@tenure/http-port'
import { cannotListen } from '../errors.js'
import type { Metrics } from './metrics.js'
import type { Health } from './startup.js'

interface HttpServerOptions extends Omit<HttpPortOptions, 'pages'> {
  readonly metrics: Metrics
  readonly health: () => Health
}

/** Serves GET and HEAD of `/healthz`, `/readyz` and `/metrics`. */
export async function serveHttp({
  metrics,
  health,
  ...options
}: HttpServerOptions): Promise<HttpPort> {
  const pages = {
    '/healthz': () => ({ body: 'alive\n' }),
    '/readyz': () => {
      const state = health()
      const body = `${JSON.stringify(state, round)}\n`
      return { status: state.isReady ? 200 : 503, body, type: 'application/json' }
    },
    '/metrics': async () => ({ body: await metrics.text(), type: metrics.contentType }),
  }
  try {
    return await openHttpPort({ ...options, pages })
  } catch (cause) {
    throw cannotListen('HTTP requests', 'httpPort', cause)
  }
}

/** Rounds durations to whole milliseconds. */
function round(_key: string, value: unknown): unknown {
  return typeof value === 'number' ? Math.round(value) : value
}
