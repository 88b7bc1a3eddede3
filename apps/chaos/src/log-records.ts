import { decodeRecord, type LogRecord } from '@tenure/state-machine'
import { openReadOnly, verifyLog } from '@tenure/wal'

/** A record as it stands in the log. */
export interface Logged {
  readonly lsn: number
  readonly record: LogRecord
}

/** The whole log from its first record on. It must be whole: nothing of it is truncated here. */
export async function readLog(directory: string): Promise<Logged[]> {
  const { damage, gaps, firstLsn } = await verifyLog(directory)
  if (damage !== undefined) throw new Error(`the log is damaged: ${JSON.stringify(damage)}`)
  if (gaps.length > 0) throw new Error(`the log has gaps: ${JSON.stringify(gaps)}`)
  if (firstLsn !== 1) throw new Error(`the log begins at LSN ${firstLsn}; all of it is needed`)
  const logged: Logged[] = []
  const log = await openReadOnly(directory)
  for await (const { firstLsn, records } of log.replay({ fromLsn: 1 })) {
    let lsn = firstLsn
    // What is decoded may share its memory with the run that it was read in.
    for (const bytes of records) logged.push({ lsn: lsn++, record: decodeRecord(bytes.slice()) })
  }
  return logged
}
