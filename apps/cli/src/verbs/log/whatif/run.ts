import { defineVerb } from '@tenure/app-kit'
import { forecast } from '@tenure/history'
import { exitCodes } from '../../../command-line.js'
import { withHistory } from '../../../log/directory.js'
import { displayOf } from '../../../terminal/display.js'
import { toJsonLine } from '../../../terminal/json.js'
import { ProgressLine, showProgress } from '../../../terminal/progress.js'
import { assumptionsOf } from './assumptions.js'
import { toKnobs, whatIfSettings } from './settings.js'
import { showForecast } from './show.js'

export const whatif = defineVerb({
  summary:
    'Replay a log with other options to see which tasks would have gone differently. Shows the differences, their causes and the assumptions.',
  examples: [
    {
      line: 'tenure log whatif ./tenure-data --lease-duration 15s',
      help: 'Show which leases would have expired with 15 seconds, and the recovery time after a lost worker.',
    },
    {
      line: 'tenure log whatif ./tenure-data --max-retries 5 --backoff exponential --backoff-delay 1s',
      help: 'Show how many more retries there would have been, and their total delay.',
    },
  ],
  settings: whatIfSettings,
  prepare(configuration) {
    const { directory, json, examples: examplesMax } = configuration.values
    const knobs = toKnobs(configuration.values)
    return withHistory(directory, async (history, host) => {
      const progress = new ProgressLine(host)
      const onProgress = (count: number) =>
        progress.update((elapsedMs) => showProgress({ count, elapsedMs }, 'record'))
      const { openings } = history
      const told = await forecast(history.read(), knobs, { openings, examplesMax, onProgress })
      progress.clear()
      const assumptions = assumptionsOf(told)
      const { stdout, env } = host
      stdout.write(
        json
          ? toJsonLine({ ...told, assumptions })
          : showForecast(told, assumptions, displayOf(stdout, env)),
      )
      return exitCodes.done
    })
  },
})
