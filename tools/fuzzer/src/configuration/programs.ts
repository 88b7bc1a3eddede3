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

/** The part of a program that handles its configuration. */
export interface Program {
  readonly name: string
  readonly command: Command
  readonly settings: SettingsByName
  /**
   * Runs the program up to the point at which it would touch disk or network. Returns `undefined`
   * if it gets there, or the message with which it fails.
   */
  start(args: readonly string[], env: Environment): Promise<Refusal | undefined>
}

export interface Refusal {
  readonly exitCode: number
  readonly message: string
  readonly error: unknown
}

/** Exports of the program parts that are loaded here. */
interface Modules {
  readonly command: Command
  readonly toOptions: (configuration: Configuration) => object
  readonly explain: (error: unknown, configuration: Configuration) => string
  readonly startupExitCode: (error: unknown) => number
}

export async function loadPrograms(): Promise<readonly Program[]> {
  return [
    toProgram(await load('coordinator'), async (options: object) => {
      const log = { ...('log' in options && (options.log as object)), disk: refusingDisk }
      // No HTTP port is opened: another program may use it.
      const server = await startCoordinator({ ...options, httpPort: false, log, transport })
      await server.stop()
    }),
    toProgram(await load('worker'), async (options: object) => {
      const worker = new Worker({ endpoints: [], ...options, processMetrics: false })
      const { name } = worker
      const link = { endpoints: [], ...options, name, role: 'work', capacity: 1 } as const
      for (const own of workersOwn) delete (link as Record<string, unknown>)[own]
      // An aborted signal limits the call to checking its options.
      await openLink(link, { signal: AbortSignal.abort(gaveUp) })
    }),
  ]
}

/** Opens no port and accepts no connection. */
const transport = { listen: async () => ({ port: 0, close: async () => {} }) }

const workersOwn = [
  ...['handler', 'isolation', 'queues', 'processMetrics', 'concurrency'],
  ...['pollWaitMs', 'abortGraceMs', 'drainGraceMs'],
]

const gaveUp = new Error('aborted on purpose')

function toProgram(
  { command, toOptions, explain, startupExitCode }: Modules,
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
        return { exitCode: startupExitCode(error), message, error }
      }
    },
  }
}

function isGivenUp(error: unknown): boolean {
  return error === gaveUp || (error instanceof Error && error.cause === gaveUp)
}

/**
 * A program has no entry to import, and a process for each input would be too slow. So its built
 * parts are loaded from the paths in its manifest.
 */
async function load(name: string): Promise<Modules> {
  const manifest = fileURLToPath(import.meta.resolve(`@tenure/${name}/package.json`))
  const part = async (file: string): Promise<Modules> => {
    const path = join(dirname(manifest), 'dist/src', file)
    return (await import(pathToFileURL(path).href)) as Modules
  }
  const { command } = await part('program.js')
  const { toOptions } = await part('options.js')
  const { explain, startupExitCode } = await part('endings.js')
  return { command, toOptions, explain, startupExitCode }
}

class Reached extends Error {}

async function refuse(): Promise<never> {
  throw new Reached('the disk was reached')
}

/** A start that reaches this disk has a valid configuration, and ends here. */
const refusingDisk: Disk = {
  createDirectory: refuse,
  list: refuse,
  syncDirectory: refuse,
  open: refuse,
  rename: refuse,
  remove: refuse,
  freeBytes: refuse,
  isPinned: refuse,
  removeDirectory: refuse,
  lock: refuse,
}

function wasReached(error: unknown): boolean {
  return error instanceof Reached
}
