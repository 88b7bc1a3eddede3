import { constants } from 'node:os'
import { exitCodes, flagOf, variableOf, withSettingNames } from '@tenure/app-kit'
import { RejectedError, TenureError } from '@tenure/client'
import { WorkerError } from '@tenure/worker-runtime'
import { CannotListen } from './http-server.js'
import type { Configuration } from './settings.js'

/** How the process ends when it could not start. To give up on a coordinator is no fault of the settings. */
export function startupExitCode(error: unknown): number {
  if (error instanceof WorkerError && error.code === 'WORKER_GAVE_UP') return exitCodes.failed
  if (error instanceof WorkerError || error instanceof RejectedError) return exitCodes.misconfigured
  if (error instanceof TenureError && error.code === 'CLIENT_BAD_ARGUMENT') {
    return exitCodes.misconfigured
  }
  return exitCodes.failed
}

/** What is wrong, in the words of whoever runs this binary: where it is set, not which option it is. */
export function explain(error: unknown, configuration: Configuration): string {
  if (!(error instanceof Error)) return String(error)
  const message = withSettingNames(error.message.replace(/^WorkerError: /, ''), configuration)
  return isUnauthorized(error) ? `${message} (${tokenHelp})` : message
}

function isUnauthorized(error: Error): boolean {
  return error instanceof RejectedError && error.reason === 'UNAUTHORIZED'
}

const tokenHelp = `${variableOf('token')} or ${flagOf('tokenFile')}`

/** For a line beside the explanation: what can be searched for, and where it was when nobody expected it. */
export function describe(error: unknown): {
  readonly code?: string | undefined
  readonly stack?: string | undefined
} {
  if (!(error instanceof Error)) return {}
  const isKnown = [WorkerError, TenureError, CannotListen].some((kind) => error instanceof kind)
  return {
    code: 'code' in error ? String(error.code) : undefined,
    stack: isKnown ? undefined : error.stack,
  }
}

/**
 * `process.exit` waits for every thread, and one in the middle of native code (a command that its
 * handler waits for, an addon) is there until that is over. So what a second signal is to end at once
 * ends by this signal itself where handlers run in threads. A shell shows the same number for it.
 */
export function endForSure(): void {
  process.on('exit', endBySignal)
}

function endBySignal(code: number): void {
  const [signal] =
    Object.entries(constants.signals).find(([, number]) => 128 + number === code) ?? []
  if (signal === undefined) return
  process.removeAllListeners(signal)
  // Goes unheeded where the process is the first one of a container: then `exit` goes on.
  process.kill(process.pid, signal)
}
