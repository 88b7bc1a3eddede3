import { type ChildProcess, spawn } from 'node:child_process'
import type { Outcome, Run, RunEvents, Work } from '@tenure/worker-runtime'
import { CommandLog } from './log.js'

/** Bounds the output held in memory until the coordinator is asked; the coordinator accepts less. */
const resultBytesMax = 16 * 2 ** 20
const reasonBytesMax = 2048
/** How long to wait after the exit for output that is still in the pipes. */
const lastBytesMs = 1000

/**
 * A command that runs for one task. It leads its own process group: signals reach all its children, Ctrl-C in
 * the worker's terminal does not reach it, and processes that it leaves behind end with it.
 */
export class CommandRun implements Run {
  readonly gone: Promise<void>
  readonly #child: ChildProcess
  readonly #stdout: Buffer[] = []
  readonly #stderr = new Tail(reasonBytesMax)
  #stdoutBytes = 0
  #isAborted = false
  #isTerminated = false
  #hasExited = false
  /** Afterwards the system may reuse the group's number for other processes. */
  #isGroupGone = false

  constructor(commandLine: string, work: Work, { ended, logged }: RunEvents) {
    this.#child = spawn(commandLine, {
      shell: '/bin/sh',
      detached: true,
      stdio: 'pipe',
      env: environmentOf(work, process.env),
    })
    const log = new CommandLog(logged)
    this.#connect(work.payload, log)
    this.gone = new Promise((resolve) => {
      const end = (outcome: Outcome) => {
        log.end()
        ended(outcome)
        resolve()
      }
      this.#child.once('error', ({ message }) => {
        // A command that was started emits `close` instead.
        if (this.#child.pid === undefined)
          end({ kind: 'crashed', reason: `not started: ${message}` })
      })
      this.#child.once('exit', () => this.#onExit())
      this.#child.once('close', (code, signal) => {
        if (this.#child.pid === undefined) return
        // Processes that closed the pipes may still run.
        this.#signal('SIGKILL')
        end(this.#toOutcome(code, signal))
      })
    })
  }

  abort(): void {
    this.#isAborted = true
    this.#signal('SIGTERM')
  }

  terminate(): true {
    this.#isTerminated = true
    if (this.#hasExited) this.#clearUp()
    else this.#signal('SIGKILL')
    return true
  }

  #connect(payload: Uint8Array, log: CommandLog): void {
    const { stdin, stdout, stderr } = this.#child
    // A command need not read all of its input.
    stdin?.on('error', () => {})
    stdin?.end(payload)
    stdout?.on('data', (bytes: Buffer) => {
      this.#stdoutBytes += bytes.length
      if (this.#stdoutBytes <= resultBytesMax) this.#stdout.push(bytes)
    })
    stderr?.on('data', (bytes: Buffer) => {
      this.#stderr.push(bytes)
      log.push(bytes)
    })
  }

  #toOutcome(code: number | null, signal: NodeJS.Signals | null): Outcome {
    if (this.#isTerminated) return { kind: 'terminated' }
    if (code !== 0) {
      const end = code === null ? `ended by ${signal}` : `exit code ${code}`
      return { kind: 'failed', reason: [end, this.#stderr.toString()].filter(Boolean).join(': ') }
    }
    if (this.#stdoutBytes > resultBytesMax) {
      return {
        kind: 'failed',
        reason: `the standard output has ${this.#stdoutBytes} bytes; at most ${resultBytesMax} are accepted`,
      }
    }
    return {
      kind: 'returned',
      result: this.#stdoutBytes === 0 ? undefined : Buffer.concat(this.#stdout),
    }
  }

  /**
   * A shell exits immediately on SIGTERM. Its children keep the rest of the grace, until they have closed
   * standard output and error, or are terminated.
   */
  #onExit(): void {
    this.#hasExited = true
    if (!this.#isAborted || this.#isTerminated) this.#clearUp()
    else this.#signal(0)
  }

  /**
   * Kills the processes that the command left behind. Processes in another group may still hold the pipes;
   * these are closed after a while.
   */
  #clearUp(): void {
    this.#signal('SIGKILL')
    const { stdout, stderr } = this.#child
    const timer = setTimeout(() => {
      stdout?.destroy()
      stderr?.destroy()
    }, lastBytesMs)
    this.#child.once('close', () => clearTimeout(timer))
  }

  /**
   * Signals the whole group; 0 only tests whether it still has processes. The group may be empty (ESRCH) or
   * belong to another user (EPERM).
   */
  #signal(signal: NodeJS.Signals | 0): void {
    const { pid } = this.#child
    if (pid === undefined || this.#isGroupGone) return
    try {
      process.kill(-pid, signal)
      this.#isGroupGone = this.#hasExited && signal === 'SIGKILL'
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      this.#isGroupGone = code === 'ESRCH'
      if (code !== 'ESRCH' && code !== 'EPERM') throw error
    }
  }
}

/** The worker's environment, without its secrets, plus the facts of the task. */
function environmentOf(
  { taskId, queue, attempt, leaseId, deadline }: Work,
  own: NodeJS.ProcessEnv,
): NodeJS.ProcessEnv {
  return {
    ...own,
    TENURE_TASK_ID: String(taskId),
    TENURE_TASK_QUEUE: queue,
    TENURE_TASK_ATTEMPT: String(attempt),
    TENURE_TASK_LEASE_ID: String(leaseId),
    TENURE_TASK_DEADLINE: String(deadline),
  }
}

/** Keeps the last bytes of a stream. */
export class Tail {
  readonly #bytesMax: number
  #kept = Buffer.alloc(0)
  #isCut = false

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  push(bytes: Uint8Array): void {
    const all = Buffer.concat([this.#kept, bytes.subarray(-this.#bytesMax)])
    this.#isCut ||= this.#kept.length + bytes.length > this.#bytesMax
    this.#kept = all.subarray(-this.#bytesMax)
  }

  /** Begins at the first whole character. */
  toString(): string {
    let start = 0
    while (this.#isCut && start < 4 && ((this.#kept[start] ?? 0) & 0xc0) === 0x80) start++
    const text = this.#kept.toString('utf8', start).trim()
    return this.#isCut ? `…${text}` : text
  }
}
