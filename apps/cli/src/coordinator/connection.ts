import {
  type Configuration,
  connectionSettings,
  duration,
  formatDuration,
  type Host,
  printable,
  setting,
  toLinkOptions,
} from '@tenure/app-kit'
import {
  connect,
  type LinkObserver,
  type LinkOptions,
  RejectedError,
  type Tenure,
  TenureError,
} from '@tenure/client'
import type { Role } from '@tenure/protocol'
import { exitCodeOf, explain, TaskError } from './errors.js'

/** The settings of every verb that connects to a coordinator. */
export const clientSettings = {
  ...connectionSettings,
  Connection: {
    ...connectionSettings.Connection,
    connectTimeout: setting(duration(1, 3_600_000), {
      fallback: 5000,
      help: 'Maximum time to connect to a coordinator.',
    }),
  },
} as const

/** Uses a connected client and returns the exit code. */
export type Action = (tenure: Tenure, host: Host, role: Role) => Promise<number>

/** Connects with the first role that is allowed, runs the action, and prints a failure as one line. */
export function withClient(
  configuration: Configuration<typeof clientSettings>,
  action: Action,
  roles: readonly [Role, ...Role[]] = ['produce'],
): (host: Host) => Promise<number> {
  // Read the files now, so that a missing one is a configuration error.
  const { connectTimeout: connectTimeoutMs } = configuration.values
  const options: LinkOptions = { ...toLinkOptions(configuration), connectTimeoutMs }
  return async (host) => {
    try {
      const { tenure, role } = await connectWithNotice(roles, options, host)
      try {
        return await action(tenure, host, role)
      } finally {
        await tenure.close()
      }
    } catch (error) {
      if (error instanceof TaskError) {
        host.stderr.write(`tenure: ${printable(error.message)}\n`)
        return error.exitCode
      }
      if (!(error instanceof TenureError)) throw error
      host.stderr.write(`tenure: ${explain(error, roles[0])}\n`)
      return exitCodeOf(error)
    }
  }
}

async function connectWithNotice(
  roles: readonly [Role, ...Role[]],
  options: LinkOptions,
  host: Host,
) {
  using notice = new SlowConnectNotice(options, host)
  return await connectAs(roles, { ...options, observer: notice.observer })
}

async function connectAs([role, ...others]: readonly [Role, ...Role[]], options: LinkOptions) {
  try {
    return { tenure: await connect({ ...options, role }), role }
  } catch (error) {
    const [next, ...rest] = others
    const isForbidden = error instanceof RejectedError && error.reason === 'FORBIDDEN'
    if (next === undefined || !isForbidden) throw error
    return connectAs([next, ...rest], options)
  }
}

/** Time to connect before the notice is shown. */
const quietMs = 1000

/** Tells a terminal that connecting takes long, and why. */
class SlowConnectNotice {
  readonly observer: LinkObserver = {
    attemptFailed: ({ error }) => {
      this.#why = ` (${error.message})`
    },
  }
  readonly #timer: NodeJS.Timeout
  #why = ''

  constructor({ endpoints, connectTimeoutMs = 0 }: LinkOptions, { stderr }: Host) {
    const places = endpoints.join(', ')
    this.#timer = setTimeout(() => {
      if (stderr.isTTY !== true) return
      const limit = formatDuration(connectTimeoutMs)
      const text = `no coordinator at ${places} yet${this.#why}; giving up after ${limit}`
      stderr.write(`tenure: ${printable(text)}\n`)
    }, quietMs)
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
  }
}
