import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** A program of this directory in a process of its own, which talks in lines. */
export class OtherProcess {
  readonly #child: ChildProcess
  readonly #lines: Interface
  readonly #heard: AsyncIterator<string>

  constructor(program: string, args: readonly string[]) {
    const path = fileURLToPath(new URL(`./${program}.js`, import.meta.url))
    this.#child = spawn(process.execPath, [path, ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
    this.#lines = createInterface(this.#child.stdout!)
    this.#heard = this.#lines[Symbol.asyncIterator]()
  }

  /** The next line that it says. */
  async hear(): Promise<string> {
    const { value, done } = await this.#heard.next()
    if (done) throw new Error('the process has ended')
    return value
  }

  tell(line: string): void {
    this.#child.stdin!.write(`${line}\n`)
  }

  kill(): Promise<void> {
    return new Promise((resolve) => {
      this.#child.once('exit', () => resolve())
      this.#child.kill('SIGKILL')
    })
  }
}

/** A coordinator on a log of its own in the system's temporary directory. */
export class BenchCoordinator {
  readonly port: number
  readonly #process: OtherProcess
  readonly #dataDir: string

  private constructor(port: number, process: OtherProcess, dataDir: string) {
    this.port = port
    this.#process = process
    this.#dataDir = dataDir
  }

  static async start(): Promise<BenchCoordinator> {
    const dataDir = mkdtempSync(join(tmpdir(), 'tenure-bench-'))
    const process = new OtherProcess('coordinator-process', [dataDir])
    return new BenchCoordinator(Number(await process.hear()), process, dataDir)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process.kill()
    rmSync(this.#dataDir, { recursive: true, force: true })
  }
}
