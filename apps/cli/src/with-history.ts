import type { Host } from '@tenure/app-kit'
import { type History, openHistory } from '@tenure/history'
import { withLog } from './log/directory.js'

/** Opens the log in a directory, reads, and says in one line what went wrong. */
export function withHistory(
  directory: string,
  reading: (history: History, host: Host) => Promise<number>,
): (host: Host) => Promise<number> {
  return withLog(directory, async (host) => reading(await openHistory(directory), host))
}
