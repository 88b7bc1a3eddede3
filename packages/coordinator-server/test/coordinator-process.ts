import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface, type Interface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const program = fileURLToPath(new URL('./fixtures/coordinator-process.js', import.meta.url))

export interface ProcessOptions {
  readonly segmentBytes?: number
  /** Maximum number of open files of the process. */
  readonly openFilesMax?: number
}

/** A coordinator in a separate process, which tests can kill. */
export class CoordinatorProcess {
  readonly port: number
  readonly httpPort: number
  readonly #child: ChildProcess
  readonly #lines: Interface

  private constructor(
    child: ChildProcess,
    lines: Interface,
    ports: { port: number; httpPort: number },
  ) {
    this.#child = child
    this.#lines = lines
    this.port = ports.port
    this.httpPort = ports.httpPort
  }

  static async start(dataDir: string, options: ProcessOptions = {}): Promise<CoordinatorProcess> {
    const { segmentBytes = 64 * 2 ** 20, openFilesMax } = options
    const limit = openFilesMax === undefined ? '' : `ulimit -n ${openFilesMax}; `
    const args = [process.execPath, program, dataDir, `${segmentBytes}`]
    const child = spawn('/bin/sh', ['-c', `${limit}exec "$0" "$@"`, ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const lines = createInterface({ input: child.stdout! })
    const ended = once(lines, 'close').then(() => {
      throw new Error('the coordinator ended before it listened')
    })
    const [line] = await Promise.race([once(lines, 'line'), ended])
    return new CoordinatorProcess(child, lines, JSON.parse(line))
  }

  /** Resolves when the process has no descriptor left. */
  async takeDescriptors(): Promise<void> {
    const taken = once(this.#lines, 'line')
    this.#child.kill('SIGUSR2')
    await taken
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  /** Sends SIGKILL. */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const exited = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await exited
  }

  /** Sends SIGTERM; resolves to the exit code. */
  async stop(): Promise<number | null> {
    const exited = once(this.#child, 'exit')
    this.#child.kill('SIGTERM')
    const [code] = await exited
    return code as number | null
  }
}
