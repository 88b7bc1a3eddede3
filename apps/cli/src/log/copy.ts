import { exitCodes, flagOf, type Host, printable } from '@tenure/app-kit'
import {
  type Backup,
  type BackupOptions,
  WalDamageError,
  WalError,
  type WalErrorCode,
} from '@tenure/wal'
import { countOf, showSize } from '../terminal/format.js'
import { ProgressLine } from '../terminal/progress.js'
import { describeUnreadable, historyDamageOf } from './damage.js'

/** Copies a log with a progress line. */
export async function copyWithProgress<T>(
  host: Host,
  copy: (options: BackupOptions) => Promise<T>,
): Promise<{ readonly made: T; readonly elapsedMs: number }> {
  const line = new ProgressLine(host)
  const onProgress: BackupOptions['onProgress'] = ({ copiedBytes, totalBytes }) => {
    line.update(() => {
      if (copiedBytes === totalBytes) return 'verifying the copy'
      const share = Math.floor((100 * copiedBytes) / totalBytes)
      return `copied ${showSize(copiedBytes)} of ${showSize(totalBytes)}, ${share} %`
    })
  }
  try {
    return { made: await copy({ onProgress }), elapsedMs: Math.round(line.elapsedMs) }
  } finally {
    line.clear()
  }
}

/** Prints a `WalError` as one line. */
export async function reportWalErrors(
  host: Pick<Host, 'stderr'>,
  directory: string,
  act: () => Promise<number>,
): Promise<number> {
  try {
    return await act()
  } catch (error) {
    if (!(error instanceof WalError)) throw error
    host.stderr.write(`tenure: ${printable(explain(error, directory))}\n`)
    return misconfigured.has(error.code) ? exitCodes.misconfigured : exitCodes.failed
  }
}

/** Errors that other arguments would avoid. */
const misconfigured: ReadonlySet<string> = new Set([
  'WAL_BAD_OPTION',
  'WAL_NOT_A_LOG',
  'WAL_NO_LSN',
  'WAL_BAD_DESTINATION',
  'WAL_READ_ONLY',
])

/** The error and its remedy, with flags instead of the library's options. */
function explain(error: WalError, directory: string): string {
  const unreadable = historyDamageOf(error)
  if (unreadable !== undefined) {
    return `${describeUnreadable(unreadable)}. A copy must be complete; tenure log doctor ${directory} shows how to remove the damaged part`
  }
  if (error instanceof WalDamageError) {
    const { acceptable: place } = error.damage
    const start =
      place === undefined
        ? ''
        : `, or start the coordinator with ${flagOf('acceptLoss')} ${place.segment}:${place.offset} to give up everything after that place`
    return `${error.problem}. Run tenure log doctor ${directory} to see what each option would lose. Then restore a backup${start}.`
  }
  if (error.code === 'WAL_OVERTAKEN') {
    return `the coordinator deleted a file of ${directory} before it was copied. Raise --history-age or --history-bytes-max of the coordinator, or copy to a faster disk.`
  }
  return messageWithFlags(error)
}

/** The message, with a flag in the remedy if the log cannot continue at the given or computed LSN. */
export function messageWithFlags({ code, message, problem }: WalError): string {
  const remedy = nextLsnRemedies[code]
  return remedy === undefined ? message : `${problem}. ${remedy}.`
}

const nextLsnRemedies: Partial<Record<WalErrorCode, string>> = {
  WAL_BAD_OPTION: `Choose a higher LSN with ${flagOf('nextLsn')}`,
  WAL_NO_LSN: `Set the clock, or choose an LSN with ${flagOf('nextLsn')} that is higher than any that may have been issued`,
}

export function showCopied({ firstLsn, lastLsn, segments, checkpoints, bytes }: Backup): string {
  const records = lastLsn < firstLsn ? 'no record' : `LSN ${firstLsn} to ${lastLsn}`
  const files = [countOf(segments, 'segment'), countOf(checkpoints, 'checkpoint')]
  return [records, ...files, showSize(bytes)].join(', ')
}

/** Unusable checkpoints do not make the copy incomplete, but need attention. */
export function warnOfBadCheckpoints({ badCheckpoints }: Backup, { stderr }: Host): void {
  for (const { why } of badCheckpoints) {
    stderr.write(`tenure: ${printable(why)}; it is left out, and the copy is complete without it\n`)
  }
}
