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

/** Runs a command line for each task, in a process group of its own. */
export class CommandIsolation implements Isolation {
  readonly #commandLine: string
  readonly #running = new Set<CommandRun>()

  constructor(commandLine: string) {
    this.#commandLine = commandLine
  }

  /** A program that is not there shows before a task is leased. */
  async start(): Promise<void> {
    await requireProgram(this.#commandLine)
    // However this process ends by itself, no command goes on without it.
    process.on('exit', this.#killAll)
  }

  /** What the system refuses to start is a failure of the task, and not the end of the worker. */
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
 * Checks that the shell finds the program that the command line begins with. Where that is more than
 * a plain word (a variable, a quote), only running it could tell.
 */
async function requireProgram(commandLine: string): Promise<void> {
  const [word = ''] = commandLine.trim().split(/\s/, 1)
  if (!/^[\w./+-]+$/.test(word)) return
  try {
    await promisify(execFile)('/bin/sh', ['-c', 'command -v -- "$1"', 'sh', word])
  } catch (cause) {
    throw new WorkerError('WORKER_BAD_HANDLER', `there is no program "${word}" to execute`, {
      cause,
    })
  }
}
