import { parentPort, workerData } from 'node:worker_threads'
import { History } from '@tenure/history'
import { countTasks, encodeState } from '@tenure/state-machine'
import { makeCheckpoint, nodeDisk, openReadOnly, systemClock } from '@tenure/wal'
import { calmDisk } from './calm-disk.js'
import type { MadeCheckpoint } from './checkpoint-maker.js'
import type { CheckpointJob } from './checkpoint-thread.js'
import { Pace } from './pace.js'

// What the thread does: `semantics` §11, replay done ahead of time.

const { directory, lsn, pace: cell } = workerData as CheckpointJob
const pace = new Pace(cell, () => systemClock.monotonicMs())
const disk = calmDisk(nodeDisk, () => pace.rest())
const startedMs = systemClock.monotonicMs()
const history = new History(await openReadOnly(directory, { disk }))
let replayed = 0
const state = await history.stateAt({
  until: { lsn },
  onProgress: (applied) => {
    replayed = applied
    // A window of the log is much work; a run of its records is little.
    pace.rest()
  },
})
const replayedMs = systemClock.monotonicMs()
const good = await makeCheckpoint(directory, lsn, encodeState(state), { disk })
const { waiting, leased, ended } = countTasks(state)
parentPort?.postMessage({
  ...{ lsn, good, replayed, tasks: waiting + leased + ended },
  replayMs: replayedMs - startedMs,
  writeMs: systemClock.monotonicMs() - replayedMs,
  restedMs: pace.restedMs,
} satisfies MadeCheckpoint)
