import { Worker } from 'node:worker_threads'
import { type Clock, systemClock } from '@tenure/seams'
import { CoordinatorError } from '../errors.js'
import { waitedMs } from './background.js'
import type { CheckpointMaker, MadeCheckpoint } from './checkpoint-maker.js'

/** The message that starts a checkpoint in the thread. */
export interface CheckpointJob {
  readonly lsn: number
  readonly inBackground: boolean
}

/** Memory shared with the thread: it stores its thread id here before it enters the background. */
export type BackgroundCell = Int32Array

/** External inputs, replaced in tests. */
export interface ThreadMonitor {
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly waitedMs: (threadId: number) => number | undefined
}

/**
 * Makes checkpoints, one at a time, in a background thread. A thread of normal priority would compete
 * with the event loop for cores. The thread holds its own copy of the state, so the process may use
 * twice the memory. It stays alive between checkpoints: a new thread would compile its code again, on
 * cores that requests need.
 *
 * On a machine without idle cores the background thread makes no progress. If `hurry` detects that,
 * a thread of normal priority starts the checkpoint again.
 */
export class CheckpointThread implements CheckpointMaker {
  readonly #directory: string
  readonly #monitor: ThreadMonitor
  #thread: Worker | undefined
  #background: BackgroundCell = createBackgroundCell()
  /** The thread's last observed waiting time. */
  #seen: { readonly waitedMs: number; readonly atMs: number } | undefined
  /** Stops waiting for the running thread, so that the checkpoint is started again. */
  #restart: () => void = () => {}
  /** Settles when all abandoned threads have ended. */
  #abandoned: Promise<unknown> = Promise.resolve()
  #isStopped = false

  constructor(directory: string, monitor: ThreadMonitor = { clock: systemClock, waitedMs }) {
    this.#directory = directory
    this.#monitor = monitor
  }

  /** Id of the checkpoint thread while it is in the background; otherwise 0. */
  get backgroundThreadId(): number {
    return Atomics.load(this.#background, 0)
  }

  async make(lsn: number): Promise<MadeCheckpoint> {
    this.#seen = undefined
    const made = await this.#make({ lsn, inBackground: true })
    return made ?? (await this.#make({ lsn, inBackground: false })) ?? throwAborted()
  }

  hurry(): void {
    const threadId = this.backgroundThreadId
    const waitedMs = threadId === 0 ? undefined : this.#monitor.waitedMs(threadId)
    if (waitedMs === undefined) return
    const atMs = this.#monitor.clock.monotonicMs()
    const seen = this.#seen ?? { waitedMs, atMs }
    const passedMs = atMs - seen.atMs
    if (passedMs < minWatchMs) {
      this.#seen = seen
      return
    }
    this.#seen = { waitedMs, atMs }
    if (waitedMs - seen.waitedMs > passedMs * starvedShare) this.#abandonThread()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.all([this.#abandoned, this.#thread?.terminate()])
  }

  /** Does not await the termination: a starved thread also needs CPU time to end. */
  #abandonThread(): void {
    const thread = this.#thread
    this.#thread = undefined
    this.#background = createBackgroundCell()
    this.#restart()
    this.#abandoned = Promise.all([this.#abandoned, thread?.terminate()])
  }

  /** Resolves to `undefined` when the checkpoint must be started again. */
  #make(job: CheckpointJob): Promise<MadeCheckpoint | undefined> {
    if (this.#isStopped) return Promise.resolve(undefined)
    const thread = this.#thread ?? this.#start()
    thread.postMessage(job)
    thread.ref()
    return new Promise((resolve, reject) => {
      const settle = () => {
        thread.off('message', made).off('error', failed).off('exit', ended)
        // An idle checkpoint thread must not keep the process alive.
        thread.unref()
      }
      const made = (checkpoint: MadeCheckpoint) => {
        settle()
        resolve(checkpoint)
      }
      const failed = (error: unknown) => {
        settle()
        reject(error)
      }
      const ended = () => failed(aborted())
      thread.on('message', made).on('error', failed).on('exit', ended)
      this.#restart = () => {
        settle()
        resolve(undefined)
      }
    })
  }

  #start(): Worker {
    const background = createBackgroundCell()
    const thread = new Worker(new URL('./checkpoint-worker.js', import.meta.url), {
      name: 'tenure-checkpoints',
      workerData: { directory: this.#directory, background },
      // The thread needs none of the process's arguments or variables.
      execArgv: [],
      env: {},
    })
    const forgetThread = () => {
      if (this.#thread === thread) this.#thread = undefined
    }
    thread.once('error', forgetThread).once('exit', forgetThread)
    this.#thread = thread
    this.#background = background
    return thread
  }
}

function createBackgroundCell(): BackgroundCell {
  return new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
}

function throwAborted(): never {
  throw aborted()
}

function aborted(): CoordinatorError {
  const message = 'the checkpoint thread ended before the checkpoint was complete; try again'
  return new CoordinatorError('COORDINATOR_FAILED', message)
}

/** A thread that waits for a core this share of the time would never finish. */
const starvedShare = 0.9
/** Over a shorter time, the thread may only have yielded briefly. */
const minWatchMs = 500
