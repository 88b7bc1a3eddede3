import { Worker } from 'node:worker_threads'
import { CoordinatorError } from '../errors.js'
import type { CheckpointMaker, MadeCheckpoint } from './checkpoint-maker.js'
import { createPaceCell, hurry, type PaceCell } from './pace.js'

/** What the thread is told. */
export interface CheckpointJob {
  readonly lsn: number
  readonly pace: PaceCell
}

/**
 * Makes checkpoints in a thread of its own, calmly, one at a time. The thread has a state of its own, so
 * the process takes up to twice the memory. It stays for the next checkpoint: a new one would have its
 * code compiled again, on the processors that requests need.
 */
export class CheckpointThread implements CheckpointMaker {
  readonly #directory: string
  #thread: Worker | undefined
  #pace = createPaceCell()

  constructor(directory: string) {
    this.#directory = directory
  }

  /** What the newest checkpoint is made by. */
  get pace(): PaceCell {
    return this.#pace
  }

  make(lsn: number): Promise<MadeCheckpoint> {
    this.#pace = createPaceCell()
    const thread = this.#thread ?? this.#start()
    thread.postMessage({ lsn, pace: this.#pace } satisfies CheckpointJob)
    thread.ref()
    return new Promise<MadeCheckpoint>((resolve, reject) => {
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
      const ended = () =>
        failed(new CoordinatorError('COORDINATOR_FAILED', 'the checkpoint was given up'))
      thread.on('message', made).on('error', failed).on('exit', ended)
    })
  }

  hurry(): void {
    hurry(this.#pace)
  }

  async stop(): Promise<void> {
    await this.#thread?.terminate()
  }

  #start(): Worker {
    const thread = new Worker(new URL('./checkpoint-worker.js', import.meta.url), {
      name: 'tenure-checkpoints',
      workerData: { directory: this.#directory },
      // It needs nothing of what this process was started with.
      ...{ execArgv: [], env: {} },
    })
    const lose = () => {
      if (this.#thread === thread) this.#thread = undefined
    }
    thread.once('error', lose).once('exit', lose)
    this.#thread = thread
    return thread
  }
}
