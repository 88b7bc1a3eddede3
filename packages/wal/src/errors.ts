import type { Damage } from './damage.js'

/** Stable error codes. Messages may change. The README lists what to do about each code. */
export type WalErrorCode =
  | 'WAL_BAD_OPTION'
  | 'WAL_NOT_A_LOG'
  | 'WAL_NEWER_FORMAT'
  | 'WAL_LOCKED'
  | 'WAL_READ_ONLY'
  | 'WAL_CORRUPT'
  | 'WAL_AMBIGUOUS'
  | 'WAL_NO_SPACE'
  | 'WAL_FENCED'
  | 'WAL_FAILED'
  | 'WAL_CLOSED'
  | 'WAL_BAD_RECORD'
  | 'WAL_EMPTY_APPEND'
  | 'WAL_RECORD_TOO_LARGE'
  | 'WAL_APPEND_TOO_LARGE'
  | 'WAL_LSN_MISMATCH'
  | 'WAL_NO_LSN'
  | 'WAL_FORGOTTEN'
  | 'WAL_BAD_CHECKPOINT'
  | 'WAL_BAD_DESTINATION'
  | 'WAL_OVERTAKEN'
  | 'WAL_COPY_FAILED'
  | 'WAL_COPY_OF_SHARED_LOG'
  | 'WAL_NOT_THIS_COPY'

export interface WalErrorOptions extends ErrorOptions {
  /** A step for the caller: one sentence without its full stop. */
  readonly remedy?: string
}

/** Every error that this package throws on purpose. */
export class WalError extends Error {
  readonly code: WalErrorCode
  /** The message without the remedy: a program with flags tells its users another remedy. */
  readonly problem: string

  constructor(code: WalErrorCode, problem: string, options: WalErrorOptions = {}) {
    super(options.remedy === undefined ? problem : `${problem}. ${options.remedy}.`, options)
    this.name = 'WalError'
    this.code = code
    this.problem = problem
  }
}

/** The log cannot be opened or read because its data is damaged. */
export class WalDamageError extends WalError {
  readonly damage: Damage

  constructor(damage: Damage, options?: ErrorOptions) {
    const code = damage.kind === 'ambiguous' ? 'WAL_AMBIGUOUS' : 'WAL_CORRUPT'
    super(code, problemOf(damage), { remedy: remedyOf(damage), ...options })
    this.name = 'WalDamageError'
    this.damage = damage
  }
}

function problemOf(damage: Damage): string {
  const { file, offset, why, firstMissingLsn, lastMissingLsn, coveredBy } = damage
  const place = offset === undefined ? file : `${file} at byte ${offset}`
  if (coveredBy !== undefined) {
    return (
      `${place}: ${why}. LSN ${firstMissingLsn} to ${lastMissingLsn} cannot be read. The checkpoint at ` +
      `LSN ${coveredBy} covers them, so the log opens without them`
    )
  }
  const lost =
    lastMissingLsn === undefined || lastMissingLsn < firstMissingLsn
      ? `LSN ${firstMissingLsn} and later cannot be read`
      : `LSN ${firstMissingLsn} and later cannot be read; records up to at least LSN ${lastMissingLsn} were acknowledged`
  return `${place}: ${why}. ${lost}`
}

function remedyOf({ acceptable, coveredBy }: Damage): string {
  if (coveredBy !== undefined) return 'Truncate the log after a newer checkpoint'
  if (acceptable === undefined) return 'Restore a backup, or call diagnoseLog to see what is left'
  const { segment, offset } = acceptable
  return (
    `Restore a backup, or open the log with acceptLoss { segment: ${segment}, offset: ${offset} } ` +
    'to give up everything after that place'
  )
}

/** The error code of the operating system, or `undefined` for other errors. */
export function systemCode(error: unknown): string | undefined {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code
  return undefined
}

/** Whether the disk is full. Only this failure can pass by itself. */
export function saysNoSpace(error: unknown): boolean {
  const code = systemCode(error)
  return code === 'ENOSPC' || code === 'EDQUOT'
}

/** Whether this process, or every process, lacks permission to write. */
export function saysNotWritable(error: unknown): boolean {
  const code = systemCode(error) ?? ''
  // mkdir fails with ENOENT although the parent exists on file systems such as /proc.
  if (code === 'ENOENT')
    return error instanceof Error && 'syscall' in error && error.syscall === 'mkdir'
  return ['EACCES', 'EPERM', 'EROFS'].includes(code)
}

export function noLog(directory: string): WalError {
  return new WalError('WAL_NOT_A_LOG', `${directory} holds no log`, {
    remedy: 'Choose a directory that contains one',
  })
}

export function noSpaceToRoll(): WalError {
  return new WalError('WAL_NO_SPACE', 'the disk is full: there is no space for another segment', {
    remedy: 'Free some disk space; the log then continues by itself',
  })
}

export function noSpaceToClose(): WalError {
  return new WalError('WAL_NO_SPACE', 'the log was closed while it waited for space on the disk', {
    remedy: 'Free some disk space and open the log again',
  })
}

export function failureOf(cause: unknown): WalError {
  const because = cause instanceof Error ? cause.message : String(cause)
  return new WalError('WAL_FAILED', `the log stopped because the disk failed: ${because}`, {
    remedy: 'Open the log again after the disk is repaired',
    cause,
  })
}
