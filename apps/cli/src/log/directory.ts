import { existsSync } from 'node:fs'
import { argument, exitCodes, type Host, printable, text } from '@tenure/app-kit'
import { type History, openHistory } from '@tenure/history'
import { WalDamageError, WalError } from '@tenure/wal'
import { messageWithFlags } from './copy.js'
import { describePlace, describeUnreadable, historyDamageOf } from './damage.js'

/** The log directory argument. */
export const logDirectorySettings = {
  Arguments: {
    directory: argument(text('directory'), {
      help: 'Data directory of the coordinator (its --data-dir).',
    }),
  },
} as const

/**
 * Prints an error in reading a log as one line. Exit code 1 means that the log itself is bad; an
 * unreadable directory or a wrong argument is 2.
 */
export function withLog(
  directory: string,
  action: (host: Host) => Promise<number>,
): (host: Host) => Promise<number> {
  return async (host) => {
    try {
      return await action(host)
    } catch (error) {
      const why = explainLogError(error, directory)
      if (why === undefined) throw error
      host.stderr.write(`tenure: ${printable(why.message)}\n`)
      return why.isFailure ? exitCodes.failed : exitCodes.misconfigured
    }
  }
}

/** Opens the log in a directory, reads it, and prints an error as one line. */
export function withHistory(
  directory: string,
  action: (history: History, host: Host) => Promise<number>,
): (host: Host) => Promise<number> {
  return withLog(directory, async (host) => action(await openHistory(directory), host))
}

/** Why a log cannot be read, and the remedy. */
export interface LogRefusal {
  readonly message: string
  /** The contents of the log are the problem, not the arguments. */
  readonly isFailure: boolean
}

/** `undefined` if the error is not about a log. */
export function explainLogError(error: unknown, directory: string): LogRefusal | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  const unreadable = historyDamageOf(error)
  if (unreadable !== undefined) {
    const after = `records after LSN ${unreadable.lastMissingLsn} can be read`
    return {
      message: `${describeUnreadable(unreadable)}; ${after}. tenure log doctor ${directory} shows how to remove the damaged part`,
      isFailure: true,
    }
  }
  if (error instanceof WalDamageError) {
    return {
      message: `the log is damaged: ${describePlace(error.damage)}. ${seeDoctor(directory)}`,
      isFailure: true,
    }
  }
  const code = String(error.code)
  const problem = error instanceof WalError ? error.problem : error.message
  const told = sentences[code]?.(problem, directory)
  if (told !== undefined) return { message: told, isFailure: failures.has(code) }
  const isOurs = /^(WAL|HISTORY|STATE)_/.test(code) || 'syscall' in error
  const message = error instanceof WalError ? messageWithFlags(error) : error.message
  return isOurs ? { message: `${directory}: ${message}`, isFailure: false } : undefined
}

function seeDoctor(directory: string): string {
  return `tenure log doctor ${directory} shows what is lost and what to do`
}

type Sentence = (problem: string, directory: string) => string

const forbidden: Sentence = (_, directory) =>
  `no permission to read ${directory}; run tenure as the user that runs the coordinator`

const newer: Sentence = (problem) => `${problem}; use a newer tenure`

const sentences: Readonly<Record<string, Sentence | undefined>> = {
  WAL_NOT_A_LOG: (_, directory) =>
    existsSync(directory)
      ? `${directory} does not contain a log; use the --data-dir of a coordinator`
      : `directory ${directory} does not exist; use the --data-dir of a coordinator`,
  WAL_NEWER_FORMAT: newer,
  STATE_UNKNOWN_RECORD: (problem) => problem,
  HISTORY_UNREADABLE_RECORD: (problem, directory) => `${problem}. ${seeDoctor(directory)}`,
  HISTORY_UNDECLARED_GAP: (problem, directory) => `${problem}. ${seeDoctor(directory)}`,
  STATE_INVARIANT_VIOLATION: (problem, directory) =>
    `a record breaks a rule: ${problem}. ${seeDoctor(directory)}`,
  HISTORY_REMOVED: (problem, directory) =>
    `${problem}. Choose a later moment; ${seeDoctor(directory)}`,
  HISTORY_NOT_YET: (problem) => `${problem}; choose an earlier moment`,
  WAL_FORGOTTEN: (problem) =>
    `${problem}. The coordinator has just removed these records; run the command again`,
  WAL_LOCKED: (problem) => `${problem}. Stop it first`,
  WAL_READ_ONLY: (problem) =>
    `${problem}. Make it writable, and run tenure as the user that runs the coordinator`,
  LOG_NO_SUCH_TASK: (problem) =>
    `${problem}. Ended tasks are forgotten after a while; choose an earlier moment with --at`,
  ENOTDIR: (_, directory) => `${directory} is not a directory; use the --data-dir of a coordinator`,
  EACCES: forbidden,
  EPERM: forbidden,
}

const failures = new Set([
  'LOG_NO_SUCH_TASK',
  'HISTORY_UNREADABLE_RECORD',
  'HISTORY_UNDECLARED_GAP',
  'STATE_INVARIANT_VIOLATION',
])
