import { type ConnectionConfiguration, exitCodes, type Host, toLinkOptions } from '@tenure/app-kit'
import { connect, type LinkOptions, RejectedError, type Tenure, TenureError } from '@tenure/client'

/** Something that is asked of a coordinator. It gives the exit code. */
export type Action = (tenure: Tenure, host: Host) => Promise<number>

const connectTimeoutMs = 5000

/** Connects, acts, and says in one line what went wrong. */
export function withClient(
  configuration: ConnectionConfiguration,
  action: Action,
): (host: Host) => Promise<number> {
  // Read before anything runs: a file that is missing is a mistake in the call.
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
      return exitCodes.failed
    }
  }
}

function explain(error: TenureError): string {
  if (error.code === 'CLIENT_UNREACHABLE') {
    return `${error.message}. Is a coordinator running there? Else say where: --coordinator host:port.`
  }
  if (!(error instanceof RejectedError)) return error.message
  const { reason, retryAfterMs } = error
  if (reason === 'UNAUTHORIZED')
    return `${error.message}. Give it a token: TENURE_TOKEN or --token-file.`
  return retryAfterMs === undefined ? error.message : `${error.message} (in ${retryAfterMs} ms)`
}
