import { History, type LogSource } from '@tenure/history'
import type { Clock } from '@tenure/seams'
import { countTasks, encodeState, type State } from '@tenure/state-machine'
import { type Disk, makeCheckpoint, openReadOnly } from '@tenure/wal'
import type { MadeCheckpoint } from './checkpoint-maker.js'

export interface CheckpointDependencies {
  readonly disk: Disk
  readonly clock: Clock
}

/** `semantics` §11: replays the log up to a sealed LSN and writes the resulting state. */
export async function checkpointLog(
  directory: string,
  lsn: number,
  { disk, clock }: CheckpointDependencies,
): Promise<MadeCheckpoint> {
  const startedMs = clock.monotonicMs()
  const log = await openReadOnly(directory, { disk, clock })
  const history = new History(withoutCheckpoint(log, lsn))
  let replayed = 0
  const state = await history.stateAt({
    until: { lsn },
    onProgress: (applied) => {
      replayed = applied
    },
  })
  const replayedMs = clock.monotonicMs()
  const good = await makeCheckpoint(directory, lsn, chunksOf(state), { disk, clock })
  return {
    lsn,
    good,
    replayed,
    tasks: countAllTasks(state),
    replayMs: replayedMs - startedMs,
    writeMs: clock.monotonicMs() - replayedMs,
  }
}

/**
 * Ignores a checkpoint that an abandoned attempt may have left at this LSN. Replaying from it would make
 * the reported figures depend on how far that attempt got.
 */
function withoutCheckpoint(log: LogSource, lsn: number): LogSource {
  const { firstLsn, gaps, openings } = log
  return {
    firstLsn,
    gaps,
    openings,
    checkpoints: log.checkpoints.filter((at) => at !== lsn),
    replay: (options) => log.replay(options),
    readCheckpoint: (at) => log.readCheckpoint(at),
  }
}

/** The state in the chunks that a checkpoint stores. */
export function chunksOf(state: State): Iterable<Uint8Array> {
  return encodeState(state, { chunkBytesMax: chunkBytes })
}

export function countAllTasks(state: State): number {
  const { waiting, leased, ended } = countTasks(state)
  return waiting + leased + ended
}

/** Small enough that no single write delays the log for long. */
const chunkBytes = 64 * 1024
