import type { Host } from '@tenure/app-kit'
import { type History, openHistory } from '@tenure/history'
import { exitCodes } from './exit-codes.js'
import { printable } from './show/printable.js'

/** Opens the log in a directory, reads, and says in one line what went wrong. */
export function withHistory(
  directory: string,
  reading: (history: History, host: Host) => Promise<number>,
): (host: Host) => Promise<number> {
  return async (host) => {
    try {
      return await reading(await openHistory(directory), host)
    } catch (error) {
      if (!isExpected(error)) throw error
      host.stderr.write(`tenure: ${printable(error.message)}\n`)
      return exitCodes.failed
    }
  }
}

/** The log, the history and the disk each say in a word what is wrong. */
function isExpected(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
}
