import { createServer, type Server, type ServerResponse } from 'node:http'
import type { Worker } from '@tenure/worker-runtime'

export interface HttpServer {
  readonly port: number
  close(): Promise<void>
}

/** The port is taken, most likely: starting again may help once it is free. */
export class CannotListen extends Error {
  readonly code = 'WORKER_CANNOT_LISTEN'
}

type Page = (worker: Worker) => Promise<Reply> | Reply

interface Reply {
  readonly status: number
  readonly body: string
  readonly type?: string
}

/** All there is. */
const pages: Readonly<Record<string, Page>> = {
  '/healthz': () => ({ status: 200, body: 'alive\n' }),
  '/readyz': ({ mode, isConnected }) => {
    const isReady = isConnected && (mode === 'leasing' || mode === 'running')
    const body = `${JSON.stringify({ isReady, mode, isConnected })}\n`
    return { status: isReady ? 200 : 503, body, type: 'application/json' }
  },
  '/metrics': async ({ metrics }) => {
    return { status: 200, body: await metrics.text(), type: metrics.contentType }
  },
}

/** What a worker shows of itself. */
export async function serveHttp(host: string, port: number, worker: Worker): Promise<HttpServer> {
  const server = createServer((request, response) => {
    void answer(request.method ?? '', request.url ?? '', response, worker)
  })
  server.requestTimeout = 10_000
  server.headersTimeout = 5000
  await listen(server, host, port)
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function answer(
  method: string,
  url: string,
  response: ServerResponse,
  worker: Worker,
): Promise<void> {
  const { status, body, type = 'text/plain; charset=utf-8' } = await look(method, url, worker)
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    ...(status === 405 && { allow: 'GET, HEAD' }),
  })
  response.end(method === 'HEAD' ? '' : body)
}

async function look(method: string, url: string, worker: Worker): Promise<Reply> {
  if (method !== 'GET' && method !== 'HEAD') return { status: 405, body: 'GET and HEAD only\n' }
  const [path = ''] = url.split('?')
  if (!Object.hasOwn(pages, path)) {
    return { status: 404, body: `there are ${Object.keys(pages).join(', ')}\n` }
  }
  try {
    return await pages[path]!(worker)
  } catch (error) {
    return { status: 500, body: `${String(error)}\n` }
  }
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause) => {
      const hint = 'is a worker running already? Else choose another --http-port, or off'
      reject(new CannotListen(`http: ${cause.message}; ${hint}`, { cause }))
    })
    server.listen(port, host, () => {
      // The promise is settled. A connection that could not be accepted is no reason to stop.
      server.on('error', () => {})
      resolve()
    })
  })
}
