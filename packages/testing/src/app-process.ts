import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

/** A test, as far as it ends what it has started. */
export interface Owner {
  teardown(action: () => Promise<void>): void
}

export interface AppOptions {
  /** All of its environment: nothing is inherited. */
  readonly env: NodeJS.ProcessEnv
  readonly args?: readonly string[]
}

/** A line of its log. */
export interface LogLine {
  readonly level: string
  readonly msg: string
  readonly [field: string]: unknown
}

export interface AppExit {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A program of Node as a process of its own, and what it says: tests wait for its words, not for time. */
export class AppProcess {
  readonly lines: LogLine[] = []
  readonly exited: Promise<AppExit>
  readonly #child: ChildProcess
  readonly #awaited = new Set<(line: LogLine) => void>()
  #stdout = ''
  #stderr = ''

  constructor(owner: Owner, program: string, { args = [], env }: AppOptions) {
    this.#child = spawn(process.execPath, [program, ...args], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#child.stderr?.on('data', (chunk) => {
      this.#stderr += chunk
    })
    createInterface({ input: this.#child.stdout! }).on('line', (line) => this.#hear(line))
    this.exited = new Promise((resolve) => {
      this.#child.on('close', (code) => {
        resolve({ code, stdout: this.#stdout, stderr: this.#stderr })
      })
    })
    owner.teardown(async () => {
      this.kill('SIGKILL')
      await this.exited
    })
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

  #hear(text: string): void {
    this.#stdout += `${text}\n`
    if (!text.startsWith('{')) return
    const line = JSON.parse(text) as LogLine
    if (typeof line.msg !== 'string') return
    this.lines.push(line)
    for (const tell of this.#awaited) tell(line)
  }
}

/** Settings from outside would be settings; and tap's own loader must not run in the child. */
export function cleanEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const isForeign = (name: string) => name === 'NODE_OPTIONS' || name.startsWith('TENURE_')
  return Object.fromEntries(Object.entries(env).filter(([name]) => !isForeign(name)))
}
