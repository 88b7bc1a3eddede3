import { History } from '@tenure/history'
import { countTasks, encodeState } from '@tenure/state-machine'
import { type Clock, type Disk, makeCheckpoint, openReadOnly } from '@tenure/wal'
import type { MadeCheckpoint } from './checkpoint-maker.js'

export interface CheckpointMeans {
  readonly disk: Disk
  readonly clock: Clock
}

/** `semantics` §11: replays the log up to a sealed LSN, and keeps the state that it makes. */
export async function checkpointLog(
  directory: string,
  lsn: number,
  { disk, clock }: CheckpointMeans,
): Promise<MadeCheckpoint> {
  const startedMs = clock.monotonicMs()
  const history = new History(await openReadOnly(directory, { disk, clock }))
  let replayed = 0
  const state = await history.stateAt({
    until: { lsn },
    onProgress: (applied) => {
      replayed = applied
    },
  })
  const replayedMs = clock.monotonicMs()
  const chunks = encodeState(state, { chunkBytesMax: chunkBytes })
  const good = await makeCheckpoint(directory, lsn, chunks, { disk, clock })
  const { waiting, leased, ended } = countTasks(state)
  return {
    ...{ lsn, good, replayed, tasks: waiting + leased + ended },
    replayMs: replayedMs - startedMs,
    writeMs: clock.monotonicMs() - replayedMs,
  }
}

/** Small enough that no write keeps the disk from the log for long. */
const chunkBytes = 64 * 1024
