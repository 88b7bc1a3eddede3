import { spreadOf } from '@tenure/harness'
import { freePort, isInstalled, type Place, Server, type ServerProgram } from '../servers/server.js'
import type { Held } from '../servers/written-logs.js'

/** A server with its data, to be killed and started again. */
export interface RecoveryCase extends ServerProgram {
  readonly system: string
  readonly name: string
  /** The most seconds that it should take, at full size. */
  readonly target?: number
  /** Makes the data without the server, where that can be done. */
  write?(directory: string): Promise<Held>
  /** Makes it through the server. */
  fill?(place: Place): Promise<Held>
  /** How many tasks it knows, to be held against what it was given. */
  countTasks(place: Place): Promise<number>
}

export interface Figure extends Held {
  readonly system: string
  readonly case: string
  /** From the kill to the first answer, the median of the rounds. */
  readonly seconds: number
  readonly least: number
  readonly most: number
  readonly rounds: number
  readonly pageCache: 'warm'
}

export interface Skipped {
  readonly system: string
  readonly case: string
  readonly skipped: string
}

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
  const { median: seconds, least, most } = spreadOf(took)
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
