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

/** Every error that this package throws on purpose. */
export class WalError extends Error {
  readonly code: WalErrorCode

  constructor(code: WalErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'WalError'
    this.code = code
  }
}

/** The log cannot be opened or read because its data is damaged. */
export class WalDamageError extends WalError {
  readonly damage: Damage

  constructor(damage: Damage, options?: ErrorOptions) {
    super(damage.kind === 'ambiguous' ? 'WAL_AMBIGUOUS' : 'WAL_CORRUPT', describe(damage), options)
    this.name = 'WalDamageError'
    this.damage = damage
  }
}

function describe(damage: Damage): string {
  const { file, offset, why, firstMissingLsn, lastMissingLsn, acceptable, coveredBy } = damage
  const place = offset === undefined ? file : `${file} at byte ${offset}`
  if (coveredBy !== undefined) {
    return (
      `${place}: ${why}. LSN ${firstMissingLsn} to ${lastMissingLsn} cannot be read. The checkpoint at ` +
      `LSN ${coveredBy} covers them, so the log opens without them. Truncate the log after a newer checkpoint`
    )
  }
  const lost =
    lastMissingLsn === undefined || lastMissingLsn < firstMissingLsn
      ? `LSN ${firstMissingLsn} and later cannot be read`
      : `LSN ${firstMissingLsn} and later cannot be read; records up to at least LSN ${lastMissingLsn} were acknowledged`
  const wayOut =
    acceptable === undefined
      ? ''
      : `. Restore a backup, or open the log with acceptLoss { segment: ${acceptable.segment}, ` +
        `offset: ${acceptable.offset} } to give up everything after that place`
  return `${place}: ${why}. ${lost}${wayOut}`
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

export function noSpaceToRoll(): WalError {
  return new WalError('WAL_NO_SPACE', 'the disk is full: there is no space for another segment')
}

export function noSpaceToClose(): WalError {
  return new WalError('WAL_NO_SPACE', 'the log was closed while it waited for space on the disk')
}

export function failureOf(cause: unknown): WalError {
  const because = cause instanceof Error ? cause.message : String(cause)
  return new WalError(
    'WAL_FAILED',
    `the log stopped because the disk failed: ${because}. ` +
      'Open the log again after the disk is repaired.',
    { cause },
  )
}
