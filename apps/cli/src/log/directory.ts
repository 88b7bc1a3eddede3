import { argument, exitCodes, type Host, printable, text } from '@tenure/app-kit'
import { explainLogError } from '../log-refusals.js'

/** Verbs that are about a log take it. */
export const logDirectorySettings = {
  Which: {
    directory: argument(text('directory'), {
      help: 'Where the log is: the --data-dir of its coordinator.',
    }),
  },
} as const

/**
 * Reads a log, and says in one line why it cannot be read. That is no finding about the log, so it
 * ends as a mistake in the call does: 1 is left for what is wrong with a log.
 */
export function withLog(
  directory: string,
  reading: (host: Host) => Promise<number>,
): (host: Host) => Promise<number> {
  return async (host) => {
    try {
      return await reading(host)
    } catch (error) {
      const why = explainLogError(error, directory)
      if (why === undefined) throw error
      host.stderr.write(`tenure: ${printable(why.message)}\n`)
      return why.isFailure ? exitCodes.failed : exitCodes.misconfigured
    }
  }
}
