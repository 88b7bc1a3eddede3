import { openReadOnly } from '@tenure/wal'
import { RecordFile } from './record-file.js'

// A process of its own that reads the log while it is written, from its first record on, and keeps a
// copy of each record: what a checkpoint covers the coordinator removes, and on a full disk it
// removes all that it can do without. Told to stop, it reads on to the end.

const [directory, path] = process.argv.slice(2)
if (directory === undefined || path === undefined)
  throw new Error('where is the log, and the copy?')

const stopping = new AbortController()
process.on('SIGTERM', () => stopping.abort())
const copy = new RecordFile(path)
let nextLsn = 1
await read(directory, true)
await read(directory, false)
copy.close()

async function read(directory: string, follow: boolean): Promise<void> {
  const log = await openReadOnly(directory)
  const { signal } = stopping
  const options = follow ? { follow, signal } : {}
  for await (const { firstLsn, records } of log.replay({ fromLsn: nextLsn, ...options })) {
    copy.append(firstLsn, records)
    nextLsn = firstLsn + records.length
  }
}
