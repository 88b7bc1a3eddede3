import type { SharedLog, StoredEntry } from '@tenure/shared-log'
import type { Process } from './process.js'

/** The engine as seen by a coordinator's process: a stopped one gets no answer, a dead one never. */
export function engineLink(log: SharedLog, process: Process): SharedLog {
  const turn = () => new Promise<void>((resolve) => process.run(resolve))
  const ask = async <T>(work: () => Promise<T>): Promise<T> => {
    await turn()
    try {
      return await work()
    } finally {
      // The answer, or the refusal, waits for the process.
      await turn()
    }
  }
  const { checkpoints } = log
  async function* follow(after: number, signal: AbortSignal): AsyncGenerator<StoredEntry> {
    for await (const entry of log.follow(after, signal)) {
      await turn()
      if (signal.aborted) return
      yield entry
    }
    await turn()
  }
  return {
    range: () => ask(() => log.range()),
    follow,
    append: (after, entry, isMine) => ask(() => log.append(after, entry, isMine)),
    truncate: (through) => ask(() => log.truncate(through)),
    checkpoints: {
      list: () => ask(() => checkpoints.list()),
      read: (lsn) => checkpoints.read(lsn),
      write: (lsn, chunks) => ask(() => checkpoints.write(lsn, chunks)),
      remove: (lsn) => ask(() => checkpoints.remove(lsn)),
    },
    close: () => log.close(),
  }
}
