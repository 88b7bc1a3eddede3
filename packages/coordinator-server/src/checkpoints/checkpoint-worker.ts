import { parentPort, workerData } from 'node:worker_threads'
import { nodeDisk, systemClock } from '@tenure/wal'
import { calmDisk } from './calm-disk.js'
import type { MadeCheckpoint } from './checkpoint-maker.js'
import { checkpointLog } from './checkpoint-of-log.js'
import type { CheckpointJob } from './checkpoint-thread.js'
import { Pace } from './pace.js'

// What the thread does, whenever it is told to: `semantics` §11, replay done ahead of time.

const port = parentPort
if (port === null) throw new Error('this runs in a thread of the coordinator only')
const { directory } = workerData as { readonly directory: string }

port.on('message', async (job: CheckpointJob) => {
  // An error ends the thread, and whoever waits for the checkpoint is told so.
  port.postMessage(await make(job))
})

async function make({ lsn, pace: cell }: CheckpointJob): Promise<MadeCheckpoint> {
  const pace = new Pace(cell, () => systemClock.monotonicMs())
  const rest = () => pace.rest()
  const means = { disk: calmDisk(nodeDisk, rest), clock: systemClock, rest }
  const made = await checkpointLog(directory, lsn, means)
  return { ...made, restedMs: pace.restedMs }
}
