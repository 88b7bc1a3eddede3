import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const program = fileURLToPath(new URL('./fixtures/coordinator-process.js', import.meta.url))

/** A coordinator in a process of its own, that can be killed. */
export class CoordinatorProcess {
  readonly port: number
  readonly httpPort: number
  readonly #child: ChildProcess

  private constructor(child: ChildProcess, ports: { port: number; httpPort: number }) {
    this.#child = child
    this.port = ports.port
    this.httpPort = ports.httpPort
  }

  static async start(dataDir: string): Promise<CoordinatorProcess> {
    const child = spawn(process.execPath, [program, dataDir], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    for await (const line of createInterface({ input: child.stdout! })) {
      return new CoordinatorProcess(child, JSON.parse(line))
    }
    throw new Error('the coordinator ended before it listened')
  }

  /** SIGKILL: no chance to do anything any more. */
  async kill(): Promise<void> {
    const exited = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await exited
  }

  /** SIGTERM, and its exit code. */
  async stop(): Promise<number | null> {
    const exited = once(this.#child, 'exit')
    this.#child.kill('SIGTERM')
    const [code] = await exited
    return code as number | null
  }
}
