import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { cleanEnvironment } from '@tenure/testing'

export interface ChildOptions {
  readonly program: string
  readonly args: readonly string[]
  /** Added to the environment of this process. */
  readonly env: Readonly<Record<string, string>>
  /**
   * Receives the output. The operating system has each line when the write returns, so a kill loses
   * none.
   */
  readonly outputPath: string
  readonly errorPath: string
}

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** One process of a real binary, from its start to its exit. */
export class Child {
  readonly exited: Promise<Exit>
  readonly #pid: number | undefined
  #exit: Exit | undefined
  /** The whole process group has exited, so its number may be reused. */
  #isGone = false

  constructor({ program, args, env, outputPath, errorPath }: ChildOptions) {
    const output = openSync(outputPath, 'a')
    const errors = openSync(errorPath, 'a')
    // A process group of its own: Ctrl-C reaches only this process, which then ends its children.
    // The group also finds and ends processes that the child leaves behind.
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
    // A rejection is reported to those who await it.
    this.exited.catch(() => {})
  }

  get hasExited(): boolean {
    return this.#exit !== undefined
  }

  /** Signals the process alone, not its children. */
  signal(signal: NodeJS.Signals): void {
    if (this.#pid !== undefined && !this.hasExited) process.kill(this.#pid, signal)
  }

  /** Whether any process of its group is still alive. */
  get isLeft(): boolean {
    return this.#signalGroup(0)
  }

  /** Ends all processes of its group. */
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
