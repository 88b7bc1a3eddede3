import { openReadOnly } from '@tenure/wal'
import { RecordFile } from './record-file.js'

// Copies the log from its first record while it is written, in a process of its own: the
// coordinator removes records that a checkpoint covers, and on a full disk all records that no
// restart needs. When told to stop, it reads to the end of the log first.

const [directory, path] = process.argv.slice(2)
if (directory === undefined || path === undefined)
  throw new Error('usage: witness <log directory> <copy>')

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
