import { freePort } from '../free-port.js'
import { isInstalled } from '../is-installed.js'
import { type Place, Server } from '../server.js'
import type { Figure, Held, RecoveryCase, Skipped } from './case.js'

const rounds = 3

/** Gives the server its data, kills it again and again, and looks each time whether all is there. */
export async function measureCase(own: RecoveryCase, directory: string): Promise<Figure | Skipped> {
  const names = { system: own.system, case: own.name }
  if (!isInstalled(own.program)) {
    return { ...names, skipped: `${own.program} is not installed` }
  }
  const place = { directory, port: await freePort() }
  const written = await own.write?.(directory)
  await using server = await Server.start(own, place)
  const held = written ?? (await own.fill?.(place))
  if (held === undefined) throw new Error(`${own.system}: ${own.name} has no data`)
  const took = await restart(server, own, place, held)
  const [least = Number.NaN, seconds = Number.NaN, most = Number.NaN] = took.sort((a, b) => a - b)
  return { ...names, ...held, seconds, least, most, rounds, pageCache: 'warm' }
}

async function restart(
  server: Server,
  own: RecoveryCase,
  place: Place,
  { liveTasks }: Held,
): Promise<number[]> {
  const took: number[] = []
  for (let round = 0; round < rounds; round++) {
    took.push(await server.restart())
    const known = await own.countTasks(place)
    if (known !== liveTasks) {
      throw new Error(`${own.system} knows ${known} tasks of ${liveTasks} after a restart`)
    }
  }
  return took
}
