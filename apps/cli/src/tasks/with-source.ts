import { ConfigError, type Configuration, flagOf, type Host, text } from '@tenure/app-kit'
import { flag } from '../command-line.js'
import { clientSettings, withClient } from '../coordinator/connection.js'
import { withLog } from '../log/directory.js'
import { logPosition, showMoment } from '../log/position.js'
import { openLogTasks, type TaskSource } from './task-source.js'

/** The settings of verbs that read from a coordinator or a log. */
export const sourceSettings = {
  Source: {
    log: flag(text('directory'), {
      help: 'Read the log in this directory instead of asking a coordinator.',
    }),
    at: flag(logPosition(), {
      help: 'Moment of the log to show instead of its end: a record number (its LSN, for example 17), a time (2026-01-02T12:00Z), or a duration back from the last record (-5m).',
    }),
  },
  ...clientSettings,
} as const

/** Reads from the source and returns the exit code. */
export type SourceAction = (source: TaskSource, host: Host) => Promise<number>

/** Opens the log or connects, reads, and prints an error as one line. */
export function withSource(
  configuration: Configuration<typeof sourceSettings>,
  action: SourceAction,
  log = configuration.values.log,
): (host: Host) => Promise<number> {
  const { at } = configuration.values
  if (log !== undefined) {
    return withLog(log, async (host) => {
      const tasks = await openLogTasks(log, at)
      host.stderr.write(`tenure: as of ${showMoment(tasks.asOf)}\n`)
      return action(tasks, host)
    })
  }
  if (at !== undefined) {
    throw new ConfigError(`${flagOf('at')} requires a log; set ${flagOf('log')}`)
  }
  return withClient(configuration, action)
}
