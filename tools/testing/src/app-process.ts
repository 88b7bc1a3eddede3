import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

/** Whoever starts it, as far as it ends what it has started: a test, say. */
export interface Owner {
  teardown(action: () => Promise<void>): void
}

export interface AppOptions {
  /** All of its environment: nothing is inherited. */
  readonly env: NodeJS.ProcessEnv
  readonly args?: readonly string[]
  /** In a process group of its own: Ctrl-C reaches only whoever has started it. */
  readonly detached?: boolean
  /** Told each line of its log. */
  readonly hear?: ((line: LogLine) => void) | undefined
}

/** A line of its log. */
export interface LogLine {
  readonly level: string
  readonly time: string
  readonly msg: string
  readonly [field: string]: unknown
}

export interface AppExit {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A program of Node as a process of its own, and what it says: whoever waits waits for its words, not for time. */
export class AppProcess {
  readonly lines: LogLine[] = []
  readonly exited: Promise<AppExit>
  readonly #child: ChildProcess
  readonly #tell: (line: LogLine) => void
  readonly #awaited = new Set<(line: LogLine) => void>()
  #stdout = ''
  #stderr = ''

  constructor(owner: Owner, program: string, options: AppOptions) {
    const { args = [], env, detached = false, hear = () => {} } = options
    this.#tell = hear
    this.#child = spawn(process.execPath, [program, ...args], {
      env,
      detached,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#child.stderr?.on('data', (chunk) => {
      this.#stderr += chunk
    })
    const lines = createInterface({ input: this.#child.stdout! })
    lines.on('line', (line) => this.#take(line))
    // The last line may still be on its way when the process has gone.
    this.exited = Promise.all([once(this.#child, 'close'), once(lines, 'close')]).then(
      ([[code]]) => ({ code, stdout: this.#stdout, stderr: this.#stderr }),
    )
    owner.teardown(() => this.end())
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  get output(): string {
    return this.#stdout + this.#stderr
  }

  /** The first line with this message and these fields, once it has been written. */
  async line(msg: string, fields: Readonly<Record<string, unknown>> = {}): Promise<LogLine> {
    const isMeant = (line: LogLine) => {
      const entries = Object.entries(fields)
      return line.msg.startsWith(msg) && entries.every(([name, value]) => line[name] === value)
    }
    const written = this.lines.find(isMeant)
    if (written !== undefined) return written
    const heard = new Promise<LogLine>((resolve) => {
      this.#awaited.add((line) => isMeant(line) && resolve(line))
    })
    const line = await Promise.race([heard, this.exited])
    if ('msg' in line) return line
    throw new Error(`it ended with ${line.code} and without "${msg}":\n${this.output}`)
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  async stop(): Promise<AppExit> {
    this.kill('SIGTERM')
    return this.exited
  }

  /** At once; settles when it has gone. */
  async end(): Promise<void> {
    this.kill('SIGKILL')
    await this.exited
  }

  #take(text: string): void {
    this.#stdout += `${text}\n`
    if (!text.startsWith('{')) return
    const line = JSON.parse(text) as LogLine
    if (typeof line.msg !== 'string') return
    this.#tell(line)
    this.lines.push(line)
    for (const tell of this.#awaited) tell(line)
  }
}

/** Settings from outside would be settings; and tap's own loader must not run in the child. */
export function cleanEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const isForeign = (name: string) => name === 'NODE_OPTIONS' || name.startsWith('TENURE_')
  return Object.fromEntries(Object.entries(env).filter(([name]) => !isForeign(name)))
}
