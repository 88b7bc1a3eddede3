import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** Path of an app's compiled program. `manifest` is the URL of the app's package.json. */
export function programOf(manifest: string): string {
  return fileURLToPath(new URL('dist/src/main.js', manifest))
}

/** A script in its own process that communicates in lines. It ends when this process exits. */
export class ScriptProcess {
  readonly exited: Promise<void>
  readonly #child: ChildProcess
  readonly #heard: AsyncIterator<string>
  readonly #kill = () => this.#child.kill('SIGKILL')

  constructor(script: URL, args: readonly string[], nodeOptions: readonly string[] = []) {
    const path = fileURLToPath(script)
    this.#child = spawn(process.execPath, [...nodeOptions, path, ...args], {
      // The loader of a test runner must not run in the script.
      env: { ...process.env, NODE_OPTIONS: undefined },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.#heard = createInterface(this.#child.stdout!)[Symbol.asyncIterator]()
    // The end of the process is reported by `exited`.
    this.#child.stdin!.on('error', () => {})
    process.once('exit', this.#kill)
    this.exited = once(this.#child, 'exit').then(() => {
      process.off('exit', this.#kill)
    })
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  /** The next line of its standard output. */
  async hear(): Promise<string> {
    const { value, done } = await this.#heard.next()
    if (done !== true) return value
    throw new Error(`${this.#child.spawnargs.slice(1).join(' ')} ended without an answer`)
  }

  tell(line: string): void {
    this.#child.stdin!.write(`${line}\n`)
  }

  /** Kills the process without closing anything in it. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#kill()
    await this.exited
  }
}

/** Runs a script that prints one line of JSON, returns the value and kills the script. */
export async function askScript<Answer>(
  script: URL,
  args: readonly string[],
  nodeOptions: readonly string[] = [],
): Promise<Answer> {
  await using child = new ScriptProcess(script, args, nodeOptions)
  return JSON.parse(await child.hear()) as Answer
}

/** Makes signals exit this process, so that its `exit` listeners run. */
export function exitOnSignals(): void {
  process.once('SIGHUP', () => process.exit(129))
  process.once('SIGINT', () => process.exit(130))
  process.once('SIGTERM', () => process.exit(143))
}

/** A directory that is removed when this process exits. Servers that write to it must end first. */
export function scratchDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'tenure-bench-'))
  process.once('exit', () => rmSync(directory, { recursive: true, force: true, maxRetries: 10 }))
  exitOnSignals()
  return directory
}
