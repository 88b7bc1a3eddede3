import { nodeTransport } from '../src/connection/node-transport.js'
import {
  type Backoff,
  connect,
  type Link,
  type LinkOptions,
  openLink,
  type SocketEvents,
  TenureError,
  type Transport,
} from '../src/index.js'
import { ScriptedServer, type ServerOptions } from './scripted-server.js'

/** Long enough to affect no test, short enough not to delay one. */
export const quick: Backoff = { initialMs: 1, maxMs: 2 }

/** A coordinator and a connected client. */
export async function createWorld(
  serverOptions: ServerOptions = {},
  options: Partial<LinkOptions> = {},
) {
  const server = await ScriptedServer.start(serverOptions)
  const tenure = await connect({ endpoints: [server.endpoint], backoff: quick, ...options })
  return {
    server,
    tenure,
    async [Symbol.asyncDispose]() {
      await tenure.close()
      await server[Symbol.asyncDispose]()
    },
  }
}

/** A coordinator and a connected link. */
export async function createLinkWorld(
  serverOptions: ServerOptions = {},
  options: Partial<LinkOptions> = {},
): Promise<{ server: ScriptedServer; link: Link } & AsyncDisposable> {
  const server = await ScriptedServer.start(serverOptions)
  const link = await openLink({ endpoints: [server.endpoint], backoff: quick, ...options })
  return {
    server,
    link,
    async [Symbol.asyncDispose]() {
      await link.close()
      await server[Symbol.asyncDispose]()
    },
  }
}

/** The error with which the promise rejects. */
export async function rejection(promise: Promise<unknown>): Promise<TenureError> {
  let value: unknown
  try {
    value = await promise
  } catch (error) {
    if (error instanceof TenureError) return error
    throw error
  }
  throw new Error(`it was not rejected, but gave ${JSON.stringify(value)}`)
}

/** A port without a listener. */
export async function freeEndpoint(): Promise<string> {
  await using server = await ScriptedServer.start()
  return server.endpoint
}

/** The real transport with an interceptor for received data. */
export function listening(receive: (bytes: Uint8Array, events: SocketEvents) => void): Transport {
  return {
    connect: (target, events) =>
      nodeTransport.connect(target, {
        opened: () => events.opened(),
        received: (bytes) => receive(bytes, events),
        drained: () => events.drained(),
        closed: (error) => events.closed(error),
      }),
  }
}
