import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { delimiter, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { cleanEnvironment } from '@tenure/testing'

const askEveryMs = 5
const answerMsMax = 300_000

/** A server that is started from a program on this machine. */
export interface ServerProgram {
  /** A case whose program is not installed is skipped. */
  readonly program: string
  /** The user that it runs as, if that is not the current one. */
  readonly user?: { readonly uid: number; readonly gid: number } | undefined
  /** The signal that ends it and all its children immediately; SIGKILL by default. */
  readonly endSignal?: NodeJS.Signals
  /** Options for Node, where the program is a script of this repository. */
  readonly nodeOptions?: readonly string[]
  args(place: Place): readonly string[]
  /** Added to the current environment. */
  env?(place: Place): NodeJS.ProcessEnv
  /** Whether it answers a request now; a refused connection is an error or `false`. */
  answers(port: number): Promise<boolean>
}

export interface Place {
  readonly directory: string
  readonly port: number
}

/** A process of the program, which can be killed and started again. */
export class Server {
  readonly #program: ServerProgram
  readonly #place: Place
  readonly #onExit = () => this.#end()
  #child: ChildProcess | undefined

  private constructor(program: ServerProgram, place: Place) {
    this.#program = program
    this.#place = place
    // Ahead of other exit listeners: one of them may remove the directory that the server uses.
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

  /** Seconds from the kill to the first answer. The exit of the killed process is part of it. */
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
    // Scripts of this repository run in this Node; other programs are run directly.
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

/** Whether the program exists: a path, or a name to look up in PATH. */
export function isInstalled(program: string): boolean {
  const directories = (process.env.PATH ?? '').split(delimiter)
  return existsSync(program) || directories.some((path) => existsSync(join(path, program)))
}

/**
 * A port that a server can use at each start: clients need to know it before the server can report
 * it.
 */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no port is free')
  return address.port
}
