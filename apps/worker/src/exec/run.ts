import { type ChildProcess, spawn } from 'node:child_process'
import type { Outcome, Run, RunEvents, Work } from '@tenure/worker-runtime'
import { CommandLog } from './log.js'

/** The coordinator takes less; this is what is held in memory until it can be asked. */
const resultBytesMax = 16 * 2 ** 20
const reasonBytesMax = 2048
/** For what was written before the end to arrive. */
const lastBytesMs = 1000

/**
 * A command at work on one task. It leads a process group of its own: a signal reaches whatever it
 * has started, Ctrl-C in the worker's terminal does not reach it, and what it leaves behind ends
 * with it.
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
  /** Its number may be that of others by now. */
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
        // Of a command that was started `close` tells the end.
        if (this.#child.pid === undefined)
          end({ kind: 'crashed', reason: `not started: ${message}` })
      })
      this.#child.once('exit', () => this.#onExit())
      this.#child.once('close', (code, signal) => {
        if (this.#child.pid === undefined) return
        // Who has closed the pipes may live on.
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
    // Nobody is obliged to read all of its input.
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
        reason: `${this.#stdoutBytes} bytes on its standard output are too many`,
      }
    }
    return {
      kind: 'returned',
      result: this.#stdoutBytes === 0 ? undefined : Buffer.concat(this.#stdout),
    }
  }

  /**
   * A shell ends at once when it is told to; what it ran has the rest of its grace all the same, until
   * it has closed its standard output and error, or is terminated.
   */
  #onExit(): void {
    this.#hasExited = true
    if (!this.#isAborted || this.#isTerminated) this.#clearUp()
    else this.#signal(0)
  }

  /** Ends what it left behind. Who went into a group of their own may still hold the pipes: they are let go. */
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
   * To the whole group; 0 only looks whether somebody is left. There may be nobody left in it, or
   * nobody who is ours to end.
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

/** The worker's own environment, which has no secrets any more, and what there is to know about the task. */
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

/** The last bytes of something that may be long. */
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

  /** From its first whole character on. */
  toString(): string {
    let start = 0
    while (this.#isCut && start < 4 && ((this.#kept[start] ?? 0) & 0xc0) === 0x80) start++
    const text = this.#kept.toString('utf8', start).trim()
    return this.#isCut ? `…${text}` : text
  }
}
