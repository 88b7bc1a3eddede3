import { ConfigError, type Configuration, flagOf, type Host, text } from '@tenure/app-kit'
import { flag } from '../command-line.js'
import { clientSettings, withClient } from '../coordinator/connection.js'
import { withLog } from '../log/directory.js'
import { logPosition, showMoment } from '../log/position.js'
import { openLogTasks, type TaskSource } from './task-source.js'

/** Verbs that only read take them: they say where from. */
export const sourceSettings = {
  'Where from': {
    log: flag(text('directory'), {
      help: 'Reads the log in this directory and asks no coordinator, which may be running or not.',
    }),
    at: flag(logPosition(), {
      help: 'Of a log: as of this moment. Without it as of its end.',
    }),
  },
  ...clientSettings,
} as const

/** Something that is read. It gives the exit code. */
export type Reading = (source: TaskSource, host: Host) => Promise<number>

/** Opens what is to be read from, reads, and says in one line what went wrong. */
export function withSource(
  configuration: Configuration<typeof sourceSettings>,
  reading: Reading,
  log = configuration.values.log,
): (host: Host) => Promise<number> {
  const { at } = configuration.values
  if (log !== undefined) {
    return withLog(log, async (host) => {
      const tasks = await openLogTasks(log, at)
      host.stderr.write(`tenure: as of ${showMoment(tasks.asOf)}\n`)
      return reading(tasks, host)
    })
  }
  if (at !== undefined) {
    throw new ConfigError(`${flagOf('at')} is a moment of a log: name it with ${flagOf('log')}`)
  }
  return withClient(configuration, reading)
}
