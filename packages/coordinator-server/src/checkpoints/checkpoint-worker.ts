import { constants, setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { openHistory } from '@tenure/history'
import { countTasks, encodeState } from '@tenure/state-machine'
import { makeCheckpoint, systemClock } from '@tenure/wal'
import type { MadeCheckpoint } from './checkpoint-maker.js'
import type { CheckpointJob } from './checkpoint-thread.js'

// The thread: `semantics` §11, replay done ahead of time.

// Linux gives each thread a priority of its own; elsewhere this would be that of the process.
if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL)

const { directory, lsn } = workerData as CheckpointJob
const startedMs = systemClock.monotonicMs()
const history = await openHistory(directory)
let replayed = 0
const state = await history.stateAt({
  until: { lsn },
  onProgress: (applied) => {
    replayed = applied
  },
})
const replayedMs = systemClock.monotonicMs()
const good = await makeCheckpoint(directory, lsn, encodeState(state))
const { waiting, leased, ended } = countTasks(state)
parentPort?.postMessage({
  ...{ lsn, good, replayed, tasks: waiting + leased + ended },
  replayMs: replayedMs - startedMs,
  writeMs: systemClock.monotonicMs() - replayedMs,
} satisfies MadeCheckpoint)
