import { parentPort, workerData } from 'node:worker_threads'
import { History } from '@tenure/history'
import { countTasks, encodeState } from '@tenure/state-machine'
import { makeCheckpoint, nodeDisk, openReadOnly, systemClock } from '@tenure/wal'
import { calmDisk, calmPieceBytes } from './calm-disk.js'
import type { MadeCheckpoint } from './checkpoint-maker.js'
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
  const disk = calmDisk(nodeDisk, () => pace.rest())
  const startedMs = systemClock.monotonicMs()
  const history = new History(await openReadOnly(directory, { disk }))
  let replayed = 0
  const state = await history.stateAt({
    until: { lsn },
    onProgress: (applied) => {
      replayed = applied
      pace.rest()
    },
  })
  const replayedMs = systemClock.monotonicMs()
  const chunks = encodeState(state, { chunkBytesMax: calmPieceBytes })
  const good = await makeCheckpoint(directory, lsn, chunks, { disk })
  const { waiting, leased, ended } = countTasks(state)
  return {
    ...{ lsn, good, replayed, tasks: waiting + leased + ended },
    replayMs: replayedMs - startedMs,
    writeMs: systemClock.monotonicMs() - replayedMs,
    restedMs: pace.restedMs,
  }
}
