import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { delimiter, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { cleanEnvironment } from '@tenure/testing'

const askEveryMs = 5
const answerMsMax = 300_000

/** A server of which there is a program on this machine. */
export interface ServerProgram {
  /** Where this is missing, what needs it is skipped. */
  readonly program: string
  /** Whom it runs as, where that is somebody else than whoever starts it. */
  readonly user?: { readonly uid: number; readonly gid: number } | undefined
  /** What ends it and all that it has started at once; SIGKILL, where nothing else is said. */
  readonly endSignal?: NodeJS.Signals
  /** Where the program is a script of ours. */
  readonly nodeOptions?: readonly string[]
  args(place: Place): readonly string[]
  /** Beside the environment that is here. */
  env?(place: Place): NodeJS.ProcessEnv
  /** Whether it answers a request now; that nobody listens yet is an error or `false`. */
  answers(port: number): Promise<boolean>
}

export interface Place {
  readonly directory: string
  readonly port: number
}

/** A process of it: started, killed, started again, and asked until it answers. */
export class Server {
  readonly #program: ServerProgram
  readonly #place: Place
  readonly #onExit = () => this.#end()
  #child: ChildProcess | undefined

  private constructor(program: ServerProgram, place: Place) {
    this.#program = program
    this.#place = place
    // Before whatever else happens then: its directory may be removed.
    process.prependOnceListener('exit', this.#onExit)
  }

  static async start(program: ServerProgram, place: Place): Promise<Server> {
    const server = new Server(program, place)
    server.#spawn()
    await server.#answer()
    return server
  }

  get pid(): number {
    return this.#child?.pid ?? 0
  }

  /** From the kill to the first answer, in seconds. That the killed one has to be gone first is part of it. */
  async restart(): Promise<number> {
    const killedMs = performance.now()
    await this.#kill()
    this.#spawn()
    await this.#answer()
    return (performance.now() - killedMs) / 1000
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#kill()
    process.off('exit', this.#onExit)
  }

  #spawn(): void {
    const log = openSync(this.#log, 'w')
    const { program, nodeOptions = [] } = this.#program
    const args = this.#program.args(this.#place)
    // Scripts of ours are run by this Node; the others are programs of the machine.
    const [file, all] = program.endsWith('.js')
      ? [process.execPath, [...nodeOptions, program, ...args]]
      : [program, args]
    this.#child = spawn(file, all, {
      ...this.#program.user,
      env: { ...cleanEnvironment(process.env), ...this.#program.env?.(this.#place) },
      stdio: ['ignore', log, log],
    })
    closeSync(log)
  }

  async #kill(): Promise<void> {
    const child = this.#child
    if (child === undefined || hasEnded(child)) return
    const gone = once(child, 'exit')
    this.#end()
    await gone
  }

  #end(): void {
    this.#child?.kill(this.#program.endSignal ?? 'SIGKILL')
  }

  async #answer(): Promise<void> {
    const begunMs = performance.now()
    while (!(await this.#program.answers(this.#place.port).catch(() => false))) {
      if (this.#child === undefined || hasEnded(this.#child)) throw this.#failure('ended')
      if (performance.now() - begunMs > answerMsMax) throw this.#failure('does not answer')
      await pause(askEveryMs)
    }
  }

  #failure(what: string): Error {
    return new Error(`${this.#program.program} ${what}:\n${readFileSync(this.#log, 'utf8')}`)
  }

  get #log(): string {
    return join(this.#place.directory, 'server.log')
  }
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}

/** Whether there is such a program: a path, or a name to be looked for. */
export function isInstalled(program: string): boolean {
  const directories = (process.env.PATH ?? '').split(delimiter)
  return existsSync(program) || directories.some((path) => existsSync(join(path, program)))
}

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
