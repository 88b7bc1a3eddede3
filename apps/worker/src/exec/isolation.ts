import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import {
  type Isolation,
  type Run,
  type RunEvents,
  type Work,
  WorkerError,
} from '@tenure/worker-runtime'
import { CommandRun } from './run.js'

/** Runs a command line for each task, each in its own process group. */
export class CommandIsolation implements Isolation {
  readonly #commandLine: string
  readonly #running = new Set<CommandRun>()

  constructor(commandLine: string) {
    this.#commandLine = commandLine
  }

  /** Detects a missing program before the first task is leased. */
  async start(): Promise<void> {
    await requireProgram(this.#commandLine)
    // Commands must not outlive this process, however it exits.
    process.on('exit', this.#killAll)
  }

  /** If the system cannot start the command, the task fails; the worker continues. */
  run(work: Work, events: RunEvents): Run {
    try {
      return this.#start(work, events)
    } catch (error) {
      const reason = `not started: ${error instanceof Error ? error.message : error}`
      setImmediate(() => events.ended({ kind: 'crashed', reason }))
      return { abort: () => {}, terminate: () => true }
    }
  }

  #start(work: Work, events: RunEvents): Run {
    const run = new CommandRun(this.#commandLine, work, {
      logged: events.logged,
      ended: (outcome) => {
        this.#running.delete(run)
        events.ended(outcome)
      },
    })
    this.#running.add(run)
    return run
  }

  async close(): Promise<void> {
    this.#killAll()
    await Promise.all([...this.#running].map(({ gone }) => gone))
    process.off('exit', this.#killAll)
  }

  readonly #killAll = () => {
    for (const run of this.#running) run.terminate()
  }
}

/**
 * Checks that the shell finds the first word of the command line. If that is not a plain word (a variable, a
 * quote), only running the command can tell.
 */
async function requireProgram(commandLine: string): Promise<void> {
  const [word = ''] = commandLine.trim().split(/\s/, 1)
  if (!/^[\w./+-]+$/.test(word)) return
  try {
    await promisify(execFile)('/bin/sh', ['-c', 'command -v -- "$1"', 'sh', word])
  } catch (cause) {
    const message = `cannot find the program "${word}"; use its full path, or add its directory to PATH`
    throw new WorkerError('WORKER_BAD_HANDLER', message, { cause })
  }
}
