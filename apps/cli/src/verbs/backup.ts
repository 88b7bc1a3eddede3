import { argument, defineVerb, exitCodes, printable, text } from '@tenure/app-kit'
import { backupLog } from '@tenure/wal'
import { flag } from '../command-line.js'
import { copyWithProgress, orExplain, showCopied, warnOf } from '../log/copy.js'
import { showSpan } from '../terminal/figures.js'
import { outputSettings, toJsonLine } from '../terminal/json.js'

export const backup = defineVerb({
  summary:
    'Copies the log of a coordinator, while it runs or not. The copy holds all that was acknowledged before it began; it is read back, and is there whole or not at all.',
  examples: [
    {
      line: 'tenure backup /var/lib/tenure --to /backups/tenure-2026-01-02',
      help: 'Each backup is a directory of its own.',
    },
  ],
  settings: {
    What: {
      dataDir: argument(text('directory'), { help: 'The --data-dir of the coordinator.' }),
      to: flag(text('directory'), {
        required: true,
        help: 'Where the copy goes. It must not exist yet, or be empty.',
      }),
    },
    ...outputSettings,
  },
  prepare({ values: { dataDir, to, json } }) {
    return (host) =>
      orExplain(host, dataDir, async () => {
        const { made, elapsedMs } = await copyWithProgress(host, (options) =>
          backupLog(dataDir, to, options),
        )
        warnOf(made, host)
        const text = `backed up ${dataDir} to ${to} in ${showSpan(elapsedMs)}: ${showCopied(made)}`
        const facts = { dataDir, to, ...made, elapsedMs }
        host.stdout.write(json ? toJsonLine(facts) : `${printable(text)}\n`)
        return exitCodes.done
      })
  },
})
