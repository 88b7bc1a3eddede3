import { History } from '@tenure/history'
import { countTasks, encodeState } from '@tenure/state-machine'
import { type Clock, type Disk, makeCheckpoint, openReadOnly } from '@tenure/wal'
import { calmPieceBytes } from './calm-disk.js'
import type { MadeCheckpoint } from './checkpoint-maker.js'

export interface CheckpointMeans {
  readonly disk: Disk
  readonly clock: Clock
  /** Called behind each run of records. */
  readonly rest?: () => void
}

/** `semantics` §11: replays the log up to a sealed LSN, and keeps the state that it makes. */
export async function checkpointLog(
  directory: string,
  lsn: number,
  { disk, clock, rest }: CheckpointMeans,
): Promise<Omit<MadeCheckpoint, 'restedMs'>> {
  const startedMs = clock.monotonicMs()
  const history = new History(await openReadOnly(directory, { disk, clock }))
  let replayed = 0
  const state = await history.stateAt({
    until: { lsn },
    onProgress: (applied) => {
      replayed = applied
      rest?.()
    },
  })
  const replayedMs = clock.monotonicMs()
  const chunks = encodeState(state, { chunkBytesMax: calmPieceBytes })
  const good = await makeCheckpoint(directory, lsn, chunks, { disk, clock })
  const { waiting, leased, ended } = countTasks(state)
  return {
    ...{ lsn, good, replayed, tasks: waiting + leased + ended },
    replayMs: replayedMs - startedMs,
    writeMs: clock.monotonicMs() - replayedMs,
  }
}
