import type { Damage } from './damage.js'

/**
 * Stable words for what can go wrong; the message beside them may change.
 * The README lists them with what to do about each.
 */
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

/** Every error this package raises on purpose. */
export class WalError extends Error {
  readonly code: WalErrorCode

  constructor(code: WalErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'WalError'
    this.code = code
  }
}

/** The log does not open, or does not read on, because what it holds cannot be trusted. */
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
      `${place}: ${why}. LSN ${firstMissingLsn} to ${lastMissingLsn} cannot be read. The checkpoint of ` +
      `LSN ${coveredBy} covers them, so the log opens without them: truncate it behind a newer checkpoint`
    )
  }
  const lost =
    lastMissingLsn === undefined || lastMissingLsn < firstMissingLsn
      ? `LSN ${firstMissingLsn} and what follows cannot be read`
      : `LSN ${firstMissingLsn} is acknowledged and cannot be read, nor what follows, at least to LSN ${lastMissingLsn}`
  const wayOut =
    acceptable === undefined
      ? ''
      : `. Restore a copy, or open the log with acceptLoss { segment: ${acceptable.segment}, ` +
        `offset: ${acceptable.offset} } to go on without what lies behind that place`
  return `${place}: ${why}. ${lost}${wayOut}`
}

/** The operating system's word for the failure, or `undefined` when the error did not come from it. */
export function systemCode(error: unknown): string | undefined {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code
  return undefined
}

/** Whether the failure says that there is no room, which is the one failure that may pass by itself. */
export function saysNoSpace(error: unknown): boolean {
  const code = systemCode(error)
  return code === 'ENOSPC' || code === 'EDQUOT'
}

/** Whether the failure says that this process may not write there, or that nobody may. */
export function saysNotWritable(error: unknown): boolean {
  const code = systemCode(error) ?? ''
  // Of a directory whose parent is there: some file systems, as /proc, take no new one.
  if (code === 'ENOENT')
    return error instanceof Error && 'syscall' in error && error.syscall === 'mkdir'
  return ['EACCES', 'EPERM', 'EROFS'].includes(code)
}

export function noRoomToRoll(): WalError {
  return new WalError('WAL_NO_SPACE', 'the disk is full: there is no room for another segment')
}

export function noRoomToClose(): WalError {
  return new WalError('WAL_NO_SPACE', 'the log was closed while it waited for room on the disk')
}

export function failureOf(cause: unknown): WalError {
  const because = cause instanceof Error ? cause.message : String(cause)
  return new WalError(
    'WAL_FAILED',
    `the log has ended because the disk failed: ${because}. ` +
      'Nothing more is written; open the log again once the disk is sound.',
    { cause },
  )
}
