import { exitCodes as common, flagOf, variableOf, withSettingNames } from '@tenure/app-kit'
import { CoordinatorError } from '@tenure/coordinator-server'
import { HistoryError } from '@tenure/history'
import { StateMachineError } from '@tenure/state-machine'
import { WalDamageError, WalError } from '@tenure/wal'
import type { Configuration } from './settings.js'

/** The exit codes, listed in the README for supervisors. */
const exitCodes = { ...common, damaged: 3, locked: 4 } as const

type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

const byCode: Readonly<Record<string, ExitCode>> = {
  COORDINATOR_BAD_OPTION: exitCodes.misconfigured,
  COORDINATOR_EXPOSED: exitCodes.misconfigured,
  WAL_BAD_OPTION: exitCodes.misconfigured,
  WAL_NOT_A_LOG: exitCodes.misconfigured,
  WAL_NO_LSN: exitCodes.misconfigured,
  WAL_READ_ONLY: exitCodes.misconfigured,
  WAL_CORRUPT: exitCodes.damaged,
  WAL_AMBIGUOUS: exitCodes.damaged,
  WAL_BAD_CHECKPOINT: exitCodes.damaged,
  WAL_NEWER_FORMAT: exitCodes.damaged,
  WAL_LOCKED: exitCodes.locked,
}

/** The exit code after a failed startup. */
export function startupExitCode(error: unknown): ExitCode {
  // The log is readable but its records break the rules; a restart would not help.
  if (error instanceof StateMachineError || error instanceof HistoryError) {
    return exitCodes.damaged
  }
  if (error instanceof CoordinatorError || error instanceof WalError) {
    return byCode[error.code] ?? exitCodes.failed
  }
  return exitCodes.failed
}

/** Rewrites an error for users of this binary: flags instead of option names, and what to do. */
export function explain(error: unknown, configuration: Configuration): string {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof CoordinatorError && error.option !== undefined) {
    const { option } = error
    const { values, origins } = configuration
    const what = `${origins.get(option)} is ${values[option]}, which is reachable from other machines`
    return `${what}. ${exposedRemedies[option]}, or ${flagOf('insecure')} if this network is trusted.`
  }
  if (error instanceof WalError && error.code === 'WAL_READ_ONLY') {
    return `${error.problem}. Make it writable for this user, or choose another directory with ${flagOf('dataDir')}.`
  }
  if (error instanceof WalDamageError) {
    const { acceptable: place } = error.damage
    const start =
      place === undefined
        ? ''
        : `, or start with ${flagOf('acceptLoss')} ${place.segment}:${place.offset} to give up everything after that place`
    return `${error.problem}. Run tenure log doctor ${configuration.values.dataDir} to see what each option would lose. Then restore a backup${start}.`
  }
  return withSettingNames(error.message, configuration)
}

/** Extra log fields: an error code to search for, and the stack of an unexpected error. */
export function describe(error: unknown): {
  readonly code?: string | undefined
  readonly stack?: string | undefined
} {
  if (!(error instanceof Error)) return {}
  const isKnown = error instanceof CoordinatorError || error instanceof WalError
  return {
    code: 'code' in error ? String(error.code) : undefined,
    stack: isKnown ? undefined : error.stack,
  }
}

const exposedRemedies = {
  host:
    `Set TLS (${flagOf('tlsCert')} and ${flagOf('tlsKey')}) and ` +
    `tokens (${variableOf('token')}, ${flagOf('tokenFile')} or ${flagOf('tokensFile')})`,
  httpHost: `This port has neither TLS nor tokens; set ${flagOf('httpPort')} off`,
} as const
