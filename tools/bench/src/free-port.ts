import { once } from 'node:events'
import { createServer } from 'node:net'

/** One that can be used at each start of a server, because whoever asks has to know it before anybody says it. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no port is free')
  return address.port
}
