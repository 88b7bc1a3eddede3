import {
  type Configuration,
  connectionSettings,
  duration,
  type Host,
  setting,
  toLinkOptions,
} from '@tenure/app-kit'
import { connect, type LinkOptions, type Tenure, TenureError } from '@tenure/client'
import { exitCodeOf, explain } from './refusals.js'

/** Every verb takes them. */
export const clientSettings = {
  ...connectionSettings,
  Connection: {
    ...connectionSettings.Connection,
    connectTimeout: setting(duration(1, 3_600_000), {
      fallback: 5000,
      help: 'How long a coordinator is looked for.',
    }),
  },
} as const

/** Something that is asked of a coordinator. It gives the exit code. */
export type Action = (tenure: Tenure, host: Host) => Promise<number>

/** Connects, acts, and says in one line what went wrong. */
export function withClient(
  configuration: Configuration<typeof clientSettings>,
  action: Action,
): (host: Host) => Promise<number> {
  // Read before anything runs: a file that is missing is a mistake in the call.
  const { connectTimeout: connectTimeoutMs } = configuration.values
  const options: LinkOptions = { ...toLinkOptions(configuration), connectTimeoutMs }
  return async (host) => {
    try {
      const tenure = await connect(options)
      try {
        return await action(tenure, host)
      } finally {
        await tenure.close()
      }
    } catch (error) {
      if (!(error instanceof TenureError)) throw error
      host.stderr.write(`tenure: ${explain(error)}\n`)
      return exitCodeOf(error)
    }
  }
}
