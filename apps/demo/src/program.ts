import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'

/** A line of a program's log. */
export interface Line {
  readonly level: string
  readonly time: string
  readonly msg: string
  readonly [field: string]: unknown
}

export type ProgramName = 'coordinator' | 'worker' | 'cli'

/** One of our own programs, as a process of its own, and what it says. */
export class Program {
  readonly #child: ChildProcess
  readonly #exited: Promise<number | null>
  readonly #lines: Line[] = []
  readonly #awaited = new Set<{ matches(line: Line): boolean; resolve(line: Line): void }>()
  readonly #hear: (line: Line) => void
  #error = ''

  /**
   * Runs in a process group of its own: Ctrl-C is for whoever started it, and it is then told in its
   * turn.
   */
  constructor(name: ProgramName, args: readonly string[], hear: (line: Line) => void) {
    this.#hear = hear
    this.#child = spawn(process.execPath, [binaryOf(name), ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
      env: ownEnvironment(),
    })
    this.#child.stderr?.on('data', (bytes) => {
      this.#error += String(bytes)
    })
    const lines = createInterface({ input: this.#child.stdout! })
    lines.on('line', (line) => this.#take(line))
    // The last line may still be on its way when the process has gone.
    this.#exited = Promise.all([once(this.#child, 'close'), once(lines, 'close')]).then(
      ([[code]]) => code as number | null,
    )
  }

  get pid(): number {
    if (this.#child.pid === undefined) throw new Error(`not started: ${this.#error}`)
    return this.#child.pid
  }

  get hasExited(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  /** Settles with the exit code. */
  get exited(): Promise<number | null> {
    return this.#exited
  }

  /** The first line that matches, when it is there; an error when it ends without. */
  async line(matches: (line: Line) => boolean): Promise<Line> {
    const heardBefore = this.#lines.find(matches)
    if (heardBefore !== undefined) return heardBefore
    const heard = new Promise<Line>((resolve) => this.#awaited.add({ matches, resolve }))
    const line = await Promise.race([heard, this.#exited])
    if (typeof line === 'object' && line !== null) return line
    throw new Error(`it ended with code ${line}: ${this.#error.trim()}`)
  }

  /** The first such line. */
  saying(msg: string): Promise<Line> {
    return this.line((line) => line.msg === msg)
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /** Settles when it has gone. */
  async end(signal: NodeJS.Signals): Promise<void> {
    if (this.hasExited) return
    this.signal(signal)
    // Who is paused hears no signal but this one.
    this.signal('SIGCONT')
    await this.#exited
  }

  #take(text: string): void {
    if (!text.startsWith('{')) return
    const line = JSON.parse(text) as Line
    this.#hear(line)
    this.#lines.push(line)
    for (const awaited of this.#awaited) {
      if (!awaited.matches(line)) continue
      this.#awaited.delete(awaited)
      awaited.resolve(line)
    }
  }
}

/** What a program prints, when it has ended. */
export async function readProgram(name: ProgramName, args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [binaryOf(name), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: ownEnvironment(),
  })
  let output = ''
  child.stdout.on('data', (bytes) => {
    output += String(bytes)
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`tenure ${args.join(' ')} ended with code ${code}`)
  return output
}

function binaryOf(name: ProgramName): string {
  const manifest = createRequire(import.meta.url).resolve(`@tenure/${name}/package.json`)
  return join(dirname(manifest), 'dist/src/main.js')
}

/** What is set for one of our programs would be set for all of them. */
function ownEnvironment(): NodeJS.ProcessEnv {
  const isOther = ([name]: [string, unknown]) => !name.startsWith('TENURE_')
  return Object.fromEntries(Object.entries(process.env).filter(isOther))
}
