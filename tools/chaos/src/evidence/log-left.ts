import { decodeRecord } from '@tenure/state-machine'
import { openReadOnly, verifyLog } from '@tenure/wal'
import type { Logged } from './record-file.js'

/** A checkpoint as the coordinator has written it. */
export interface WrittenCheckpoint {
  readonly lsn: number
  readonly chunks: readonly Uint8Array[]
}

/** The data directory at the end: its checkpoints, and the records that were not removed. */
export interface LogLeft {
  readonly left: readonly Logged[]
  readonly checkpoints: readonly WrittenCheckpoint[]
}

/** The log must be intact: a damaged tail is not truncated here. */
export async function readLogLeft(directory: string): Promise<LogLeft> {
  const { damage, gaps, badCheckpoints, firstLsn } = await verifyLog(directory)
  if (damage !== undefined) throw new Error(`the log is damaged: ${JSON.stringify(damage)}`)
  if (gaps.length > 0) throw new Error(`the log has gaps: ${JSON.stringify(gaps)}`)
  if (badCheckpoints.length > 0) {
    throw new Error(`checkpoints cannot be read: ${JSON.stringify(badCheckpoints)}`)
  }
  const log = await openReadOnly(directory)
  const left: Logged[] = []
  for await (const { firstLsn: lsn, records } of log.replay({ fromLsn: firstLsn })) {
    // Copies the record: a decoded record may share memory with the chunk it was read from.
    for (const [index, bytes] of records.entries()) {
      left.push({ lsn: lsn + index, record: decodeRecord(bytes.slice()) })
    }
  }
  const checkpoints: WrittenCheckpoint[] = []
  for (const lsn of log.checkpoints) {
    const chunks: Uint8Array[] = []
    for await (const chunk of log.readCheckpoint(lsn)) chunks.push(chunk.slice())
    checkpoints.push({ lsn, chunks })
  }
  return { left, checkpoints }
}
