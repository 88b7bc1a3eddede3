import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { cleanEnvironment } from '@tenure/testing'

export interface ChildOptions {
  readonly program: string
  readonly args: readonly string[]
  /** Beside the variables of this process. */
  readonly env: Readonly<Record<string, string>>
  /** Takes what it writes, each line before the call that wrote it returns: a kill loses none. */
  readonly outputPath: string
  readonly errorPath: string
}

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** One process of a real binary, from its start to its end. */
export class Child {
  readonly exited: Promise<Exit>
  readonly #pid: number | undefined
  #exit: Exit | undefined
  /** Nothing is left of its group, and its number may be given to others. */
  #isGone = false

  constructor({ program, args, env, outputPath, errorPath }: ChildOptions) {
    const output = openSync(outputPath, 'a')
    const errors = openSync(errorPath, 'a')
    // In a process group of its own: Ctrl-C is for this process, which then ends its children; and
    // what a child has started can be found, and ended, when the child is gone.
    const child = spawn(process.execPath, [program, ...args], {
      detached: true,
      env: { ...cleanEnvironment(process.env), ...env },
      stdio: ['ignore', output, errors],
    })
    closeSync(output)
    closeSync(errors)
    this.#pid = child.pid
    this.exited = new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('exit', (code, signal) => {
        this.#exit = { code, signal }
        this.#lookForRest()
        resolve(this.#exit)
      })
    })
    // Whoever waits for the end hears of it.
    this.exited.catch(() => {})
  }

  get hasExited(): boolean {
    return this.#exit !== undefined
  }

  /** To the process alone, not to what it has started. */
  signal(signal: NodeJS.Signals): void {
    if (this.#pid !== undefined && !this.hasExited) process.kill(this.#pid, signal)
  }

  /** Whether anything is left of it or of what it has started. */
  get isLeft(): boolean {
    return this.#signalGroup(0)
  }

  /** Ends whatever is left of it and of what it has started. */
  end(): void {
    this.#signalGroup('SIGKILL')
  }

  #lookForRest(): void {
    this.#isGone = !this.isLeft
    if (!this.#isGone) setTimeout(() => this.#lookForRest(), 200).unref()
  }

  #signalGroup(signal: NodeJS.Signals | 0): boolean {
    if (this.#pid === undefined || this.#isGone) return false
    try {
      return process.kill(-this.#pid, signal)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
      throw error
    }
  }
}
