import { spreadOf } from '@tenure/harness'
import { freePort, isInstalled, type Place, Server, type ServerProgram } from '../servers/server.js'
import type { LogContents } from '../servers/written-logs.js'

/** A server with its data, which is killed and started again. */
export interface RecoveryCase extends ServerProgram {
  readonly system: string
  readonly name: string
  /** Maximum time in seconds, at full size. */
  readonly target?: number
  /** Writes the data without the server, where that is possible. */
  write?(directory: string): Promise<LogContents>
  /** Writes the data through the server. */
  fill?(place: Place): Promise<LogContents>
  /** How many tasks the server knows; compared with the number that was written. */
  countTasks(place: Place): Promise<number>
}

export interface Figure extends LogContents {
  readonly system: string
  readonly case: string
  /** Median over the rounds of the time from the kill to the first answer. */
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

/**
 * Gives the server its data, kills it repeatedly, and checks after each restart that all tasks are
 * there.
 */
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
  { liveTasks }: LogContents,
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
