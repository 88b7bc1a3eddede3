import type { Configuration, Host } from '@tenure/app-kit'
import type { TaskSource } from './source.js'
import { clientSettings, withClient } from './with-client.js'

/** Verbs that only read take them: they say where from. */
export const sourceSettings = clientSettings

/** Something that is read. It gives the exit code. */
export type Reading = (source: TaskSource, host: Host) => Promise<number>

/** Opens what is to be read from, reads, and says in one line what went wrong. */
export function withSource(
  configuration: Configuration<typeof sourceSettings>,
  reading: Reading,
): (host: Host) => Promise<number> {
  return withClient(configuration, reading)
}
