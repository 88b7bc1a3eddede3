import { constants } from 'node:os'
import { exitCodes, flagOf, variableOf, withSettingNames } from '@tenure/app-kit'
import { RejectedError, TenureError } from '@tenure/client'
import { WorkerError } from '@tenure/worker-runtime'
import { CannotListen } from './http-server.js'
import type { Configuration } from './settings.js'

/** The exit code when startup fails. Giving up on a coordinator is not a configuration error. */
export function startupExitCode(error: unknown): number {
  if (error instanceof WorkerError && error.code === 'WORKER_GAVE_UP') return exitCodes.failed
  if (error instanceof WorkerError || error instanceof RejectedError) return exitCodes.misconfigured
  if (error instanceof TenureError && error.code === 'CLIENT_BAD_ARGUMENT') {
    return exitCodes.misconfigured
  }
  return exitCodes.failed
}

/** Describes the error to the operator: names flags and variables instead of options. */
export function explain(error: unknown, configuration: Configuration): string {
  if (!(error instanceof Error)) return String(error)
  const message = withSettingNames(error.message, configuration)
  return isUnauthorized(error) ? `${message} (${tokenHelp})` : message
}

function isUnauthorized(error: Error): boolean {
  return error instanceof RejectedError && error.reason === 'UNAUTHORIZED'
}

const tokenHelp = `${variableOf('token')} or ${flagOf('tokenFile')}`

/** Fields for the log line: the code to search for, and the stack if the error is unexpected. */
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
 * Makes `process.exit` effective while a handler thread runs native code, such as a synchronous child
 * process. `process.exit` waits for every thread, so the process kills itself with the signal instead. A
 * shell reports the same number.
 */
export function endForSure(): void {
  process.on('exit', endBySignal)
}

function endBySignal(code: number): void {
  const [signal] =
    Object.entries(constants.signals).find(([, number]) => 128 + number === code) ?? []
  if (signal === undefined) return
  process.removeAllListeners(signal)
  // The first process of a container ignores it; then `exit` continues.
  process.kill(process.pid, signal)
}
