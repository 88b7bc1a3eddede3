import type { HistoryReader } from '@tenure/coordinator-server'
import { readPage } from '@tenure/coordinator-server/internal'
import type { Clock } from '@tenure/seams'
import { type Disk, openReadOnly } from '@tenure/wal'
import { directory } from './coordinator-options.js'

/** Reads pages of history as the coordinator's thread does, without a thread. */
export function logHistory(disk: Disk, clock: Clock): HistoryReader {
  const open = () => openReadOnly(directory, { disk, clock })
  return { read: (query, signal) => readPage(open, query, { signal }) }
}
