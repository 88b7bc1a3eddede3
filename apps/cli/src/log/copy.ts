import { exitCodes, flagOf, type Host, printable } from '@tenure/app-kit'
import { type Backup, type BackupOptions, WalDamageError, WalError } from '@tenure/wal'
import { countOf, showSize } from '../terminal/figures.js'
import { ProgressLine } from '../terminal/progress.js'
import { historyDamageOf, tellUnreadable } from './damage.js'

/** A copy of a log that is made with a line of progress; gives what it made, and how long it took. */
export async function copyWithProgress<T>(
  host: Host,
  copy: (options: BackupOptions) => Promise<T>,
): Promise<{ readonly made: T; readonly elapsedMs: number }> {
  const line = new ProgressLine(host)
  const onProgress: BackupOptions['onProgress'] = ({ copiedBytes, totalBytes }) => {
    line.update(() => {
      if (copiedBytes === totalBytes) return 'reading the copy back'
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

/** Acts, and says in one line why it could not. */
export async function orExplain(
  host: Host,
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

/** What another call would do better. */
const misconfigured: ReadonlySet<string> = new Set([
  'WAL_BAD_OPTION',
  'WAL_NOT_A_LOG',
  'WAL_NO_LSN',
  'WAL_BAD_DESTINATION',
  'WAL_READ_ONLY',
])

/** What is wrong and what to do, in the words of whoever types commands. */
function explain(error: WalError, directory: string): string {
  const unreadable = historyDamageOf(error)
  if (unreadable !== undefined) {
    return `${tellUnreadable(unreadable)}. A copy has to be whole: tenure log doctor ${directory} says how to be rid of them`
  }
  const { segment, offset } = (error instanceof WalDamageError && error.damage.acceptable) || {}
  return error.message
    .replace('options.restored.nextLsn', flagOf('nextLsn'))
    .replace(
      `Restore a backup, or open the log with acceptLoss { segment: ${segment}, offset: ${offset} }`,
      `Run tenure log doctor ${directory} first: it says what each way out would lose. Restore a backup, or start the coordinator with ${flagOf('acceptLoss')} ${segment}:${offset}`,
    )
}

/** What the copy holds. */
export function showCopied({ firstLsn, lastLsn, segments, checkpoints, bytes }: Backup): string {
  const records = lastLsn < firstLsn ? 'no record' : `LSN ${firstLsn} to ${lastLsn}`
  const files = [countOf(segments, 'segment'), countOf(checkpoints, 'checkpoint')]
  return [records, ...files, showSize(bytes)].join(', ')
}

/** What should be looked at, although the copy is good. */
export function warnOf({ badCheckpoints }: Backup, { stderr }: Host): void {
  for (const { why } of badCheckpoints) {
    stderr.write(`tenure: ${printable(why)}; it is left out, and the copy is whole without it\n`)
  }
}
