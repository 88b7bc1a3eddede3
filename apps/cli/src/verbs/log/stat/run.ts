import { defineVerb, exitCodes } from '@tenure/app-kit'
import { openHistory } from '@tenure/history'
import { logDirectorySettings, withLog } from '../../../log/directory.js'
import { countByState } from '../../../log/task-totals.js'
import { displayOf } from '../../../terminal/display.js'
import { outputSettings, toJsonLine } from '../../../terminal/json.js'
import { ProgressLine, showProgress } from '../../../terminal/progress.js'
import { showLogStatistics } from './show.js'
import { readStatistics } from './statistics.js'

export const stat = defineVerb({
  summary:
    'Count the contents of a log: records by type, segments, checkpoints and tasks by state. Lists the openings, one for each time that a coordinator opened the log, and the gaps, which are LSNs that were skipped on purpose after a restore or an accepted loss. Reads the whole log.',
  examples: [
    { line: 'tenure log stat tenure-data', help: 'Show the size and the contents of a log.' },
  ],
  settings: { ...logDirectorySettings, ...outputSettings },
  prepare({ values: { directory, json } }) {
    return withLog(directory, async (host) => {
      const { stdout, env } = host
      const line = new ProgressLine(host)
      const history = await openHistory(directory)
      const all = (await history.end()).lsn - history.firstLsn + 1
      const read = await readStatistics(directory, (count) => {
        line.update((elapsedMs) => showProgress({ count, elapsedMs, share: count / all }, 'record'))
      })
      const tasks = countByState(await history.stateAt())
      line.clear()
      const stats = { ...read, tasks }
      stdout.write(
        json ? toJsonLine(stats) : showLogStatistics(stats, Date.now(), displayOf(stdout, env)),
      )
      return exitCodes.done
    })
  },
})
