import { History, type LogSource } from '@tenure/history'
import { type LogReader, openReadOnly } from '@tenure/wal'

/**
 * A log as if the records before an LSN had been removed. What went bad in history that a checkpoint
 * covers is passed over like that, and the rest is told as where a coordinator has removed it.
 */
export async function openHistoryBehind(directory: string, firstLsn: number): Promise<History> {
  return new History(sourceBehind(await openReadOnly(directory), firstLsn))
}

export function sourceBehind(reader: LogReader, firstLsn: number): LogSource {
  if (firstLsn <= reader.firstLsn) return reader
  return {
    firstLsn,
    checkpoints: reader.checkpoints.filter((lsn) => lsn >= firstLsn - 1),
    gaps: reader.gaps,
    openings: reader.openings.filter((opening) => opening.firstLsn >= firstLsn),
    replay: (options) => reader.replay(options),
    readCheckpoint: (lsn) => reader.readCheckpoint(lsn),
  }
}
