import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'

const binary = fileURLToPath(new URL('../src/main.js', import.meta.url))

export interface Line {
  readonly level: string
  readonly msg: string
  readonly [field: string]: unknown
}

export interface Exit {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** The built binary as a process of its own, and what it says. */
export class CoordinatorProcess {
  readonly lines: Line[] = []
  readonly exited: Promise<Exit>
  readonly #child: ChildProcess
  readonly #awaited: { readonly msg: string; readonly resolve: (line: Line) => void }[] = []
  #stdout = ''
  #stderr = ''

  constructor(t: Test, args: readonly string[], env: Record<string, string> = {}) {
    this.#child = spawn(process.execPath, [binary, ...args], {
      env: { ...ownEnvironment(), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#child.stderr!.on('data', (chunk) => {
      this.#stderr += chunk
    })
    createInterface({ input: this.#child.stdout! }).on('line', (line) => this.#hear(line))
    this.exited = new Promise((resolve) => {
      this.#child.on('close', (code) => {
        resolve({ code, stdout: this.#stdout, stderr: this.#stderr })
      })
    })
    t.teardown(async () => {
      this.kill('SIGKILL')
      await this.exited
    })
  }

  /** On free ports, until it has started. */
  static async start(
    t: Test,
    dataDir: string,
    args: readonly string[] = [],
    env: Record<string, string> = {},
  ) {
    const free = ['--data-dir', dataDir, '--port', '0', '--http-port', '0']
    const coordinator = new CoordinatorProcess(t, [...free, ...args], env)
    const { port, httpPort, epoch, records, tasks } = await coordinator.line('started')
    return { coordinator, started: { epoch, records, tasks }, port: Number(port), httpPort }
  }

  get output(): string {
    return this.#stdout + this.#stderr
  }

  /** The first line with this message, once it has been written. */
  async line(msg: string): Promise<Line> {
    const written = this.lines.find((line) => line.msg.startsWith(msg))
    if (written !== undefined) return written
    const heard = new Promise<Line>((resolve) => this.#awaited.push({ msg, resolve }))
    const line = await Promise.race([heard, this.exited])
    if ('msg' in line) return line
    throw new Error(`it ended with ${line.code} and without "${msg}":\n${this.output}`)
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  async stop(): Promise<Exit> {
    this.kill('SIGTERM')
    return this.exited
  }

  /** No chance to do anything any more. */
  async crash(): Promise<void> {
    this.kill('SIGKILL')
    await this.exited
  }

  #hear(text: string): void {
    this.#stdout += `${text}\n`
    if (!text.startsWith('{')) return
    const line = JSON.parse(text) as Line
    this.lines.push(line)
    for (const { msg, resolve } of this.#awaited) if (line.msg.startsWith(msg)) resolve(line)
  }
}

/** How it ends when it is not expected to run. */
export function runToEnd(
  t: Test,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<Exit> {
  return new CoordinatorProcess(t, args, env).exited
}

/** Goes when the processes that were started after it was made have gone. */
export function makeDirectory(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'tenure-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

export function fixture(name: string): string {
  return join(import.meta.dirname, '../../test/fixtures', name)
}

/** Settings from outside would be settings; and tap's own loader must not run in the child. */
function ownEnvironment(): NodeJS.ProcessEnv {
  const foreign = (name: string) => name === 'NODE_OPTIONS' || name.startsWith('TENURE_')
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign(name)))
}
