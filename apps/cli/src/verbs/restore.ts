import { argument, defineVerb, exitCodes, printable, text, whole } from '@tenure/app-kit'
import { type Restored, restoreLog } from '@tenure/wal'
import { flag } from '../command-line.js'
import { copyWithProgress, reportWalErrors, showCopied, warnOfBadCheckpoints } from '../log/copy.js'
import { showDuration } from '../terminal/format.js'
import { outputSettings, toJsonLine } from '../terminal/json.js'

export const restore = defineVerb({
  summary:
    'Create a data directory from a backup. The log continues after every id that may have been issued, so that no id is issued twice.',
  examples: [
    {
      line: 'tenure restore /backups/tenure-2026-01-02 --to /var/lib/tenure-new',
      help: 'Restore a backup; the original coordinator must not run any more.',
    },
  ],
  settings: {
    Arguments: {
      backup: argument(text('directory'), {
        help: 'Backup made by tenure backup; it is not changed.',
      }),
    },
    Destination: {
      to: flag(text('directory'), {
        required: true,
        help: 'New data directory; must be empty or not exist.',
      }),
      nextLsn: flag(whole(1, Number.MAX_SAFE_INTEGER), {
        help: 'First LSN of the restored log, higher than every LSN and id that the coordinator ever issued (default: computed from the clock).',
      }),
    },
    ...outputSettings,
  },
  prepare({ values: { backup, to, nextLsn, json } }) {
    return (host) =>
      reportWalErrors(host, backup, async () => {
        const { made, elapsedMs } = await copyWithProgress(host, (options) =>
          restoreLog(backup, to, { ...options, nextLsn }),
        )
        warnOfBadCheckpoints(made, host)
        const what = `restored ${backup} to ${to} in ${showDuration(elapsedMs)}`
        const facts = { backup, to, ...made, elapsedMs }
        host.stdout.write(json ? toJsonLine(facts) : showRestored(what, made, to))
        return exitCodes.done
      })
  },
})

function showRestored(what: string, made: Restored, to: string): string {
  const lines = [
    `${what}: ${showCopied(made)}`,
    `It continues at LSN ${made.nextLsn}, after every LSN that may have been issued: no task id or lease id is issued twice.`,
    'Everything after the backup is lost; workers with leases granted after it are rejected with UNKNOWN_LEASE.',
    `Next: tenure-coordinator --data-dir ${to}`,
  ]
  return lines.map((line) => `${printable(line)}\n`).join('')
}
