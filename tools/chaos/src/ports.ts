import { once } from 'node:events'
import { createServer } from 'node:net'
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
