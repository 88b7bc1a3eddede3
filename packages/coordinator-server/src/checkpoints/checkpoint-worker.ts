import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '@tenure/seams'
import { nodeDisk } from '@tenure/wal'
import { stepBack, watchableThreadId } from './background.js'
import { checkpointLog } from './checkpoint-of-log.js'
import type { BackgroundCell, CheckpointJob } from './checkpoint-thread.js'

// Entry point of the checkpoint thread: `semantics` §11, replay done ahead of time.

const port = parentPort
if (port === null) throw new Error('this module must run in a worker thread')
const { directory, background } = workerData as {
  readonly directory: string
  readonly background: BackgroundCell
}

port.on('message', async ({ lsn, inBackground }: CheckpointJob) => {
  if (inBackground) enterBackground()
  // An error ends the thread, which rejects the promise of the waiting caller.
  port.postMessage(await checkpointLog(directory, lsn, { disk: nodeDisk, clock: systemClock }))
})

function enterBackground(): void {
  if (Atomics.load(background, 0) !== 0) return
  const threadId = watchableThreadId()
  if (threadId === undefined) return
  // Store the id first: a background thread may get no CPU time to do it later.
  Atomics.store(background, 0, threadId)
  stepBack(threadId)
}
