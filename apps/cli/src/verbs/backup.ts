import { argument, defineVerb, exitCodes, printable, text } from '@tenure/app-kit'
import { backupLog } from '@tenure/wal'
import { flag } from '../command-line.js'
import { copyWithProgress, reportWalErrors, showCopied, warnOfBadCheckpoints } from '../log/copy.js'
import { showDuration } from '../terminal/format.js'
import { outputSettings, toJsonLine } from '../terminal/json.js'

export const backup = defineVerb({
  summary:
    'Back up the log of a coordinator, running or not. The backup holds everything that was acknowledged before it began. The command reads it back to verify it, and leaves no backup if it fails.',
  examples: [
    {
      line: 'tenure backup /var/lib/tenure --to /backups/tenure-2026-01-02',
      help: 'Back up to a new directory.',
    },
  ],
  settings: {
    Arguments: {
      dataDir: argument(text('directory'), {
        help: 'Data directory of the coordinator (its --data-dir).',
      }),
    },
    Destination: {
      to: flag(text('directory'), {
        required: true,
        help: 'Directory for the backup; must be empty or not exist.',
      }),
    },
    ...outputSettings,
  },
  prepare({ values: { dataDir, to, json } }) {
    return (host) =>
      reportWalErrors(host, dataDir, async () => {
        const { made, elapsedMs } = await copyWithProgress(host, (options) =>
          backupLog(dataDir, to, options),
        )
        warnOfBadCheckpoints(made, host)
        const text = `backed up ${dataDir} to ${to} in ${showDuration(elapsedMs)}: ${showCopied(made)}`
        const facts = { dataDir, to, ...made, elapsedMs }
        host.stdout.write(json ? toJsonLine(facts) : `${printable(text)}\n`)
        return exitCodes.done
      })
  },
})
