import { Worker } from 'node:worker_threads'
import { CoordinatorError } from '../errors.js'
import type { CheckpointMaker, MadeCheckpoint } from './checkpoint-maker.js'
import { createPaceCell, hurry, type PaceCell } from './pace.js'

/** What a thread is started with. */
export interface CheckpointJob {
  readonly directory: string
  readonly lsn: number
  readonly pace: PaceCell
}

/**
 * Makes checkpoints in a thread of its own, calmly, one at a time. The thread has a state of its own, so
 * while it runs the process takes up to twice the memory; it goes when the checkpoint is made.
 */
export class CheckpointThread implements CheckpointMaker {
  readonly #directory: string
  #thread: Worker | undefined
  #pace = createPaceCell()

  constructor(directory: string) {
    this.#directory = directory
  }

  /** What the newest thread rests by. */
  get pace(): PaceCell {
    return this.#pace
  }

  make(lsn: number): Promise<MadeCheckpoint> {
    this.#pace = createPaceCell()
    const workerData: CheckpointJob = { directory: this.#directory, lsn, pace: this.#pace }
    // It needs nothing of what this process was started with.
    const options = { workerData, execArgv: [], env: {} }
    const thread = new Worker(new URL('./checkpoint-worker.js', import.meta.url), options)
    this.#thread = thread
    return new Promise((resolve, reject) => {
      thread.once('message', resolve)
      thread.once('error', reject)
      thread.once('exit', () => {
        if (this.#thread === thread) this.#thread = undefined
        // Behind a message or an error this says nothing any more.
        reject(new CoordinatorError('COORDINATOR_FAILED', 'the checkpoint was given up'))
      })
    })
  }

  hurry(): void {
    hurry(this.#pace)
  }

  async stop(): Promise<void> {
    await this.#thread?.terminate()
  }
}
