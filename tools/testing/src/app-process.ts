import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

/** The owner of started programs, such as a test, which ends them. */
export interface Owner {
  teardown(action: () => Promise<void>): void
}

export interface AppOptions {
  /** The complete environment: nothing is inherited. */
  readonly env: NodeJS.ProcessEnv
  readonly args?: readonly string[]
  /** Starts the program in its own process group, which Ctrl-C does not reach. */
  readonly detached?: boolean
  /** Called with each log line. */
  readonly hear?: ((line: LogLine) => void) | undefined
}

/** A log line of the program. */
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

/** A Node program in its own process. Tests wait for its log lines, never for time to pass. */
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
    // The last line may arrive after the process has exited.
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

  /** Resolves with the first line that begins with this message and has these fields. */
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
    throw new Error(
      `the program exited with ${line.code} before it logged "${msg}":\n${this.output}`,
    )
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  async stop(): Promise<AppExit> {
    this.kill('SIGTERM')
    return this.exited
  }

  /** Kills the program, and resolves when it is gone. */
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

/** Removes TENURE_ variables, which would configure the program, and tap's loader. */
export function cleanEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const isForeign = (name: string) => name === 'NODE_OPTIONS' || name.startsWith('TENURE_')
  return Object.fromEntries(Object.entries(env).filter(([name]) => !isForeign(name)))
}
