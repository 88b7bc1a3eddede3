import { defineVerb, exitCodes } from '@tenure/app-kit'
import { logDirectorySettings, withLog } from '../../../log/directory.js'
import { displayOf } from '../../../terminal/display.js'
import { outputSettings, toJsonLine } from '../../../terminal/json.js'
import { ProgressLine, showProgress } from '../../../terminal/progress.js'
import { checkLog } from './check.js'
import { logCheckFacts, showLogCheck } from './show.js'

export const verify = defineVerb({
  summary:
    'Check the integrity of a log: every checksum, every checkpoint, and that each record is allowed after the records before it. Changes nothing, and works with a running coordinator. ' +
    'Exit code 0: good; 1: damaged, or a record breaks a rule; 2: the directory or a file could not be read (wrong path, no permission). An unfinished write at the end ' +
    'is not damage.',
  examples: [
    { line: 'tenure log verify tenure-data', help: 'Check a log.' },
    {
      line: 'tenure log verify tenure-data --json | jq -r .replay.stateHash',
      help: 'Print the hash of the final state, to compare with a copy.',
    },
  ],
  settings: { ...logDirectorySettings, ...outputSettings },
  prepare({ values: { directory, json } }) {
    return withLog(directory, async (host) => {
      const { stdout, env } = host
      const line = new ProgressLine(host)
      const check = await checkLog(directory, (count, all) => {
        const share = all === 0 ? undefined : count / all
        line.update((elapsedMs) => showProgress({ count, elapsedMs, share }, 'record'))
      })
      line.clear()
      stdout.write(
        json
          ? toJsonLine(logCheckFacts(check))
          : showLogCheck(check, directory, displayOf(stdout, env)),
      )
      return check.verdict === 'good' ? exitCodes.done : exitCodes.failed
    })
  },
})
