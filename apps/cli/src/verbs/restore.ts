import { argument, defineVerb, exitCodes, printable, text, whole } from '@tenure/app-kit'
import { type Restored, restoreLog } from '@tenure/wal'
import { flag } from '../command-line.js'
import { copyWithProgress, orExplain, showCopied, warnOf } from '../log/copy.js'
import { showSpan } from '../terminal/figures.js'
import { outputSettings, toJsonLine } from '../terminal/json.js'

export const restore = defineVerb({
  summary:
    'Makes a data directory out of a backup, for a coordinator to start on. It goes on behind every id that can have been issued up to now, so that none is issued twice.',
  examples: [
    {
      line: 'tenure restore /backups/tenure-2026-01-02 --to /var/lib/tenure-new',
      help: 'The original must not run any more, or there are two.',
    },
  ],
  settings: {
    What: {
      backup: argument(text('directory'), { help: 'What tenure backup made. It stays as it is.' }),
      to: flag(text('directory'), {
        required: true,
        help: 'The new data directory. It must not exist yet, or be empty.',
      }),
      nextLsn: flag(whole(1, Number.MAX_SAFE_INTEGER), {
        help: 'Where it goes on, if you know the last LSN that was given out. Without it, the clock decides: behind all that can have been given out up to now.',
      }),
    },
    ...outputSettings,
  },
  prepare({ values: { backup, to, nextLsn, json } }) {
    return (host) =>
      orExplain(host, backup, async () => {
        const { made, elapsedMs } = await copyWithProgress(host, (options) =>
          restoreLog(backup, to, { ...options, nextLsn }),
        )
        warnOf(made, host)
        const what = `restored ${backup} to ${to} in ${showSpan(elapsedMs)}`
        const facts = { backup, to, ...made, elapsedMs }
        host.stdout.write(json ? toJsonLine(facts) : showRestored(what, made, to))
        return exitCodes.done
      })
  },
})

function showRestored(what: string, made: Restored, to: string): string {
  const lines = [
    `${what}: ${showCopied(made)}`,
    `It goes on at LSN ${made.nextLsn}, behind all that can have been issued up to now: no task id and no lease id is issued twice.`,
    'What was answered after the backup is gone; workers that hold leases granted after it are refused as UNKNOWN_LEASE.',
    `Next: tenure-coordinator --data-dir ${to}`,
  ]
  return lines.map((line) => `${printable(line)}\n`).join('')
}
