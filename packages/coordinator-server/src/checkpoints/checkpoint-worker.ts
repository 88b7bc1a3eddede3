import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '@tenure/seams'
import { nodeDisk } from '@tenure/wal'
import { stepBack, watchableThreadId } from './background.js'
import { checkpointLog } from './checkpoint-of-log.js'
import type { BackgroundCell, CheckpointJob } from './checkpoint-thread.js'

// What the thread does, whenever it is told to: `semantics` §11, replay done ahead of time.

const port = parentPort
if (port === null) throw new Error('this runs in a thread of the coordinator only')
const { directory, background } = workerData as {
  readonly directory: string
  readonly background: BackgroundCell
}

port.on('message', async ({ lsn, inBackground }: CheckpointJob) => {
  if (inBackground) enterBackground()
  // An error ends the thread, and whoever waits for the checkpoint is told so.
  port.postMessage(await checkpointLog(directory, lsn, { disk: nodeDisk, clock: systemClock }))
})

function enterBackground(): void {
  if (Atomics.load(background, 0) !== 0) return
  const threadId = watchableThreadId()
  if (threadId === undefined) return
  // Before it steps back: from then on it may get no time to say so.
  Atomics.store(background, 0, threadId)
  stepBack(threadId)
}
