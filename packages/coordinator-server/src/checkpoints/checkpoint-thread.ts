import { Worker } from 'node:worker_threads'
import { type Clock, systemClock } from '@tenure/seams'
import { CoordinatorError } from '../errors.js'
import { waitedMs } from './background.js'
import type { CheckpointMaker, MadeCheckpoint } from './checkpoint-maker.js'

/** What the thread is told. */
export interface CheckpointJob {
  readonly lsn: number
  readonly inBackground: boolean
}

/** What is shared with the thread: its number, from before it steps back into the background. */
export type BackgroundCell = Int32Array

/** The edges to the world, for tests. */
export interface Watching {
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly waitedMs: (threadId: number) => number | undefined
}

/**
 * Makes checkpoints in a thread of its own, in the background, one at a time: beside one like any other
 * the event loop would wait for a processor. The thread has a state of its own, so the process takes up
 * to twice the memory. It stays for the next checkpoint: a new one would have its code compiled again,
 * on the processors that requests need.
 *
 * Where no processor ever rests, a thread in the background does not get on. When the checkpoint is
 * needed soon, and that is seen, it is begun again by a thread like any other.
 */
export class CheckpointThread implements CheckpointMaker {
  readonly #directory: string
  readonly #watching: Watching
  #thread: Worker | undefined
  #background: BackgroundCell = createBackgroundCell()
  /** What was seen of the thread in the background, and when. */
  #seen: { readonly waitedMs: number; readonly atMs: number } | undefined
  /** Ends the wait for what is under way, which is begun again then. */
  #beginAgain: () => void = () => {}
  /** Settles when the threads have ended that were given up. */
  #leaving: Promise<unknown> = Promise.resolve()
  #isStopped = false

  constructor(directory: string, watching: Watching = { clock: systemClock, waitedMs }) {
    this.#directory = directory
    this.#watching = watching
  }

  /** The number of the thread that makes checkpoints, while it is in the background; else 0. */
  get backgroundThreadId(): number {
    return Atomics.load(this.#background, 0)
  }

  async make(lsn: number): Promise<MadeCheckpoint> {
    this.#seen = undefined
    const made = await this.#make({ lsn, inBackground: true })
    return made ?? (await this.#make({ lsn, inBackground: false })) ?? giveUp()
  }

  hurry(): void {
    const threadId = this.backgroundThreadId
    const waitedMs = threadId === 0 ? undefined : this.#watching.waitedMs(threadId)
    if (waitedMs === undefined) return
    const atMs = this.#watching.clock.monotonicMs()
    const seen = this.#seen ?? { waitedMs, atMs }
    const passedMs = atMs - seen.atMs
    if (passedMs < leastWatchMs) {
      this.#seen = seen
      return
    }
    this.#seen = { waitedMs, atMs }
    if (waitedMs - seen.waitedMs > passedMs * starvedShare) this.#giveUpThread()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.all([this.#leaving, this.#thread?.terminate()])
  }

  /** It is not waited for: to end, too, it needs time that it does not get. */
  #giveUpThread(): void {
    const thread = this.#thread
    this.#thread = undefined
    this.#background = createBackgroundCell()
    this.#beginAgain()
    this.#leaving = Promise.all([this.#leaving, thread?.terminate()])
  }

  /** `undefined` when it is to be begun again. */
  #make(job: CheckpointJob): Promise<MadeCheckpoint | undefined> {
    if (this.#isStopped) return Promise.resolve(undefined)
    const thread = this.#thread ?? this.#start()
    thread.postMessage(job)
    thread.ref()
    return new Promise((resolve, reject) => {
      const settle = () => {
        thread.off('message', made).off('error', failed).off('exit', ended)
        // Whoever embeds a coordinator and has come to an end does not wait for the next checkpoint.
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
      const ended = () => failed(givenUp())
      thread.on('message', made).on('error', failed).on('exit', ended)
      this.#beginAgain = () => {
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
      // It needs nothing of what this process was started with.
      execArgv: [],
      env: {},
    })
    const lose = () => {
      if (this.#thread === thread) this.#thread = undefined
    }
    thread.once('error', lose).once('exit', lose)
    this.#thread = thread
    this.#background = background
    return thread
  }
}

function createBackgroundCell(): BackgroundCell {
  return new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
}

function giveUp(): never {
  throw givenUp()
}

function givenUp(): CoordinatorError {
  return new CoordinatorError('COORDINATOR_FAILED', 'the checkpoint was given up')
}

/** So much of the time without a processor, and the checkpoint would never be ready. */
const starvedShare = 0.9
/** In less, it may just have made way for somebody. */
const leastWatchMs = 500
