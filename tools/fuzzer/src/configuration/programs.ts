import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import {
  byName,
  type Command,
  type Configuration,
  configure,
  type Environment,
  type SettingsByName,
} from '@tenure/app-kit'
import { openLink } from '@tenure/client'
import { startCoordinator } from '@tenure/coordinator-server'
import type { Disk } from '@tenure/wal'
import { Worker } from '@tenure/worker-runtime'

/** A program as far as it can be configured. */
export interface Program {
  readonly name: string
  readonly command: Command
  readonly settings: SettingsByName
  /**
   * Goes as far as the program goes before it touches the world: gives `undefined` where it would have
   * done so, or the words with which it does not start.
   */
  start(args: readonly string[], env: Environment): Promise<Refusal | undefined>
}

export interface Refusal {
  readonly exitCode: number
  readonly message: string
  readonly error: unknown
}

/** What the parts of a program that are loaded here have. */
interface Modules {
  readonly command: Command
  readonly toOptions: (configuration: Configuration) => object
  readonly explain: (error: unknown, configuration: Configuration) => string
  readonly exitCodeOfStart: (error: unknown) => number
}

export async function loadPrograms(): Promise<readonly Program[]> {
  return [
    toProgram(await load('coordinator'), async (options: object) => {
      const log = { ...('log' in options && (options.log as object)), disk: refusingDisk }
      // No port is opened: there may be somebody at it.
      const server = await startCoordinator({ ...options, httpPort: false, log, transport })
      await server.stop()
    }),
    toProgram(await load('worker'), async (options: object) => {
      const worker = new Worker({ endpoints: [], ...options, processMetrics: false })
      const { name } = worker
      const link = { endpoints: [], ...options, name, role: 'work', capacity: 1 } as const
      for (const own of workersOwn) delete (link as Record<string, unknown>)[own]
      // Whoever has given up already only has its options looked at.
      await openLink(link, { signal: AbortSignal.abort(gaveUp) })
    }),
  ]
}

/** Takes no port, and no connection comes. */
const transport = { listen: async () => ({ port: 0, close: async () => {} }) }

const workersOwn = [
  ...['handler', 'isolation', 'queues', 'processMetrics', 'concurrency'],
  ...['pollWaitMs', 'abortGraceMs', 'drainGraceMs'],
]

const gaveUp = new Error('gave up before it began')

function toProgram(
  { command, toOptions, explain, exitCodeOfStart }: Modules,
  begin: (options: object) => Promise<void>,
): Program {
  return {
    name: command.name,
    command,
    settings: byName(command.settings),
    async start(args, env) {
      const configuration = configure(command, args, env)
      const options = toOptions(configuration)
      try {
        await begin(options)
        return undefined
      } catch (error) {
        if (wasReached(error) || isGivenUp(error)) return undefined
        const message = explain(error, configuration)
        return { exitCode: exitCodeOfStart(error), message, error }
      }
    },
  }
}

function isGivenUp(error: unknown): boolean {
  return error === gaveUp || (error instanceof Error && error.cause === gaveUp)
}

/**
 * A program has no face to import, and a process for each input would take all the time there is. So
 * its parts are loaded as they were built, from where its manifest says that it is.
 */
async function load(name: string): Promise<Modules> {
  const manifest = fileURLToPath(import.meta.resolve(`@tenure/${name}/package.json`))
  const part = async (file: string): Promise<Modules> => {
    const path = join(dirname(manifest), 'dist/src', file)
    return (await import(pathToFileURL(path).href)) as Modules
  }
  const { command } = await part('program.js')
  const { toOptions } = await part('options.js')
  const { explain, exitCodeOfStart } = await part('endings.js')
  return { command, toOptions, explain, exitCodeOfStart }
}

class Reached extends Error {}

async function refuse(): Promise<never> {
  throw new Reached('the disk was reached')
}

/** Whoever comes as far as this disk has been configured soundly, and comes no further. */
const refusingDisk: Disk = {
  createDirectory: refuse,
  list: refuse,
  syncDirectory: refuse,
  open: refuse,
  rename: refuse,
  remove: refuse,
  freeBytes: refuse,
  removeDirectory: refuse,
  lock: refuse,
}

function wasReached(error: unknown): boolean {
  return error instanceof Reached
}
