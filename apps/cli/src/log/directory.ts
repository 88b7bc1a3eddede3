import { existsSync } from 'node:fs'
import { argument, exitCodes, flagOf, type Host, printable, text } from '@tenure/app-kit'
import { type History, openHistory } from '@tenure/history'
import { WalDamageError } from '@tenure/wal'
import { historyDamageOf, tellPlace, tellUnreadable } from './damage.js'

/** Verbs that are about a log take it. */
export const logDirectorySettings = {
  Which: {
    directory: argument(text('directory'), {
      help: 'Where the log is: the --data-dir of its coordinator.',
    }),
  },
} as const

/**
 * Reads a log, and says in one line why it cannot be read. That is no finding about the log, so it
 * ends as a mistake in the call does: 1 is left for what is wrong with a log.
 */
export function withLog(
  directory: string,
  reading: (host: Host) => Promise<number>,
): (host: Host) => Promise<number> {
  return async (host) => {
    try {
      return await reading(host)
    } catch (error) {
      const why = explainLogError(error, directory)
      if (why === undefined) throw error
      host.stderr.write(`tenure: ${printable(why.message)}\n`)
      return why.isFailure ? exitCodes.failed : exitCodes.misconfigured
    }
  }
}

/** Opens the log in a directory, reads, and says in one line what went wrong. */
export function withHistory(
  directory: string,
  reading: (history: History, host: Host) => Promise<number>,
): (host: Host) => Promise<number> {
  return withLog(directory, async (host) => reading(await openHistory(directory), host))
}

/** Why a log could not be read, and what to do. */
export interface LogRefusal {
  readonly message: string
  /** The log was read: it is what it holds, or what it does not, and not how it was asked for. */
  readonly isFailure: boolean
}

/** `undefined` for what is no word about a log. */
export function explainLogError(error: unknown, directory: string): LogRefusal | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  const unreadable = historyDamageOf(error)
  if (unreadable !== undefined) {
    const behind = `what lies behind LSN ${unreadable.lastMissingLsn} can be read`
    return {
      message: `${tellUnreadable(unreadable)}; ${behind}. tenure log doctor ${directory} says how to be rid of them`,
      isFailure: true,
    }
  }
  if (error instanceof WalDamageError) {
    return {
      message: `the log is damaged: ${tellPlace(error.damage)}. ${seeDoctor(directory)}`,
      isFailure: true,
    }
  }
  const code = String(error.code)
  const told = sentences[code]?.(error.message.replace(/\.$/, ''), directory)
  if (told !== undefined) return { message: told, isFailure: failures.has(code) }
  const isOurs = /^(WAL|HISTORY|STATE)_/.test(code) || 'syscall' in error
  const message = error.message.replace('options.restored.nextLsn', flagOf('nextLsn'))
  return isOurs ? { message: `${directory}: ${message}`, isFailure: false } : undefined
}

function seeDoctor(directory: string): string {
  return `tenure log doctor ${directory} says what is lost and what can be done`
}

type Sentence = (message: string, directory: string) => string

const forbidden: Sentence = (_, directory) =>
  `${directory} may not be read by this user: run it as the one who runs the coordinator`

const newer: Sentence = (message) => `${message}: take a newer tenure`

const sentences: Readonly<Record<string, Sentence | undefined>> = {
  WAL_NOT_A_LOG: (_, directory) =>
    existsSync(directory)
      ? `${directory} holds no log: name the --data-dir of a coordinator`
      : `there is no directory ${directory}: name the --data-dir of a coordinator`,
  WAL_NEWER_FORMAT: (message) => message,
  STATE_UNKNOWN_RECORD: newer,
  HISTORY_UNREADABLE_RECORD: (message, directory) => `${message}. ${seeDoctor(directory)}`,
  HISTORY_UNDECLARED_GAP: (message, directory) => `${message}. ${seeDoctor(directory)}`,
  STATE_INVARIANT_VIOLATION: (message, directory) =>
    `the log breaks a rule: ${message}. ${seeDoctor(directory)}`,
  HISTORY_REMOVED: (message) => `${message}: name a later moment`,
  HISTORY_NOT_YET: (message) => `${message}: name an earlier one`,
  WAL_FORGOTTEN: (message) =>
    `${message}. The coordinator has removed them meanwhile: run it again`,
  WAL_LOCKED: (message) => `${message}. Stop it first`,
  WAL_READ_ONLY: (message) =>
    message
      .replace(', or use openReadOnly', '')
      .replace(/\. Run as .*$/, ': run it as the user who runs the coordinator'),
  LOG_NO_SUCH_TASK: (message) =>
    `${message}. Ended tasks are forgotten after a while: name an earlier moment`,
  ENOTDIR: (_, directory) => `${directory} is no directory: name the --data-dir of a coordinator`,
  EACCES: forbidden,
  EPERM: forbidden,
}

const failures = new Set([
  'LOG_NO_SUCH_TASK',
  'HISTORY_UNREADABLE_RECORD',
  'HISTORY_UNDECLARED_GAP',
  'STATE_INVARIANT_VIOLATION',
])
