import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** The compiled program of an app of ours, by the URL of the app's manifest. */
export function programOf(manifest: string): string {
  return fileURLToPath(new URL('dist/src/main.js', manifest))
}

/** A script of ours as a process of its own that talks in lines. It ends with this process at the latest. */
export class ScriptProcess {
  readonly exited: Promise<void>
  readonly #child: ChildProcess
  readonly #heard: AsyncIterator<string>
  readonly #kill = () => this.#child.kill('SIGKILL')

  constructor(script: URL, args: readonly string[], nodeOptions: readonly string[] = []) {
    const path = fileURLToPath(script)
    this.#child = spawn(process.execPath, [...nodeOptions, path, ...args], {
      // A test runner's own loader must not run in it.
      env: { ...process.env, NODE_OPTIONS: undefined },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.#heard = createInterface(this.#child.stdout!)[Symbol.asyncIterator]()
    // That it has gone is heard elsewhere.
    this.#child.stdin!.on('error', () => {})
    process.once('exit', this.#kill)
    this.exited = once(this.#child, 'exit').then(() => {
      process.off('exit', this.#kill)
    })
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  /** The next line that it says. */
  async hear(): Promise<string> {
    const { value, done } = await this.#heard.next()
    if (done !== true) return value
    throw new Error(`${this.#child.spawnargs.slice(1).join(' ')} ended without an answer`)
  }

  tell(line: string): void {
    this.#child.stdin!.write(`${line}\n`)
  }

  /** Nothing in it is closed. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#kill()
    await this.exited
  }
}

/** What a script answers in one line of JSON; it is killed then. */
export async function askScript<Answer>(
  script: URL,
  args: readonly string[],
  nodeOptions: readonly string[] = [],
): Promise<Answer> {
  await using child = new ScriptProcess(script, args, nodeOptions)
  return JSON.parse(await child.hear()) as Answer
}

/** A signal ends this process in order: what is to be done at its `exit` is done. */
export function exitOnSignals(): void {
  process.once('SIGHUP', () => process.exit(129))
  process.once('SIGINT', () => process.exit(130))
  process.once('SIGTERM', () => process.exit(143))
}

/** A directory for this process, removed however it ends. Servers that write there have to end first. */
export function scratchDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'tenure-bench-'))
  process.once('exit', () => rmSync(directory, { recursive: true, force: true, maxRetries: 10 }))
  exitOnSignals()
  return directory
}
