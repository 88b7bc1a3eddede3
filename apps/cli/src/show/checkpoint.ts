import type { CheckpointInfo } from '@tenure/client'
import { countOf, showSize } from '../terminal/numbers.js'
import { showSpan } from '../terminal/times.js'

/** In a sentence or two. */
export function showCheckpoint({ lsn, tasks, removed, ...took }: CheckpointInfo): string {
  if (lsn === 0) return 'The log is empty: there is nothing to make a checkpoint of.\n'
  if (tasks === undefined) return `Nothing has happened since the checkpoint at LSN ${lsn}.\n`
  const { segments, bytes } = removed
  const span = showSpan(took.replayMs + took.writeMs)
  const gone =
    segments === 0 ? '' : ` ${countOf(segments, 'file')} of the log removed (${showSize(bytes)}).`
  return `A checkpoint of ${countOf(tasks, 'task')} at LSN ${lsn}, made in ${span}.${gone}\n`
}
