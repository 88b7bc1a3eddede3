import { History, type LogSource } from '@tenure/history'
import { type LogReader, openReadOnly } from '@tenure/wal'

export interface FollowedLog {
  /** Reading it waits at the end for more, if it is to be followed. */
  readonly history: History
  readonly reader: LogReader
}

/** `signal` ends a log that is followed, for which there is no other end. */
export async function openFollowed(
  directory: string,
  following: AbortSignal | undefined,
): Promise<FollowedLog> {
  const reader = await openReadOnly(directory)
  const { firstLsn, checkpoints, gaps, openings } = reader
  const source: LogSource = {
    firstLsn,
    checkpoints,
    gaps,
    openings,
    replay: ({ fromLsn }) =>
      reader.replay({ fromLsn, ...(following && { follow: true, signal: following }) }),
    readCheckpoint: (lsn) => reader.readCheckpoint(lsn),
  }
  return { history: new History(source), reader }
}

/** Where to begin for what was written at a time or later: the last segment that begins before it. */
export async function segmentBefore(reader: LogReader, at: number): Promise<number> {
  const starts = reader.segments.map(({ firstLsn }) => firstLsn)
  const history = new History(reader)
  let low = 0
  let high = starts.length - 1
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (await beginsBefore(history, starts[middle]!, at)) low = middle
    else high = middle - 1
  }
  return starts[low] ?? reader.firstLsn
}

async function beginsBefore(history: History, fromLsn: number, at: number): Promise<boolean> {
  for await (const [first] of history.read({ fromLsn })) {
    if (first !== undefined) return first.record.at < at
  }
  return false
}
