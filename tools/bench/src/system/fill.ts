import type { Contender } from './contender.js'

const connections = 16
const inFlight = 64

/** One submission for each task, many on their way: as quick as it gets where a client may send on. */
export async function fillThrough({ open }: Contender, port: number, tasks: number): Promise<void> {
  const clients = await Promise.all(Array.from({ length: connections }, (_, n) => open(port, n)))
  let left = tasks
  const loops = clients.flatMap((client) =>
    Array.from({ length: inFlight }, async () => {
      while (left-- > 0) await client.submit()
    }),
  )
  await Promise.all(loops)
  await Promise.all(clients.map((client) => client.close()))
}
