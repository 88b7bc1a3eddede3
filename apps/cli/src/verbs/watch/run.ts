import { awaitStopSignal, defineVerb, duration, whole } from '@tenure/app-kit'
import { exitCodes } from '../../command-line.js'
import { clientSettings, withClient } from '../../coordinator/connection.js'
import { flag } from '../../flag.js'
import { outputSettings } from '../../terminal/json.js'
import { watch as watchTenure } from '../../watch/watch.js'
import { viewFor } from './views.js'

export const watch = defineVerb({
  summary:
    'Shows rates, states, queues and workers, again and again: in place on a terminal, else line by line. Ctrl-C ends it. Who the workers are it shows only to a token with the role admin.',
  examples: [
    { line: 'tenure watch', help: 'A live view.' },
    { line: 'tenure watch --interval 1m >> tenure.log', help: 'A line for each minute.' },
    {
      line: 'tenure watch --interval 10s --count 1 --json | jq .rates.completed',
      help: 'How many tasks are completed in a second, now.',
    },
  ],
  settings: {
    How: {
      interval: flag(duration(100, 86_400_000), {
        fallback: 2000,
        help: 'Between two looks.',
      }),
      count: flag(whole(1, 1_000_000_000), { help: 'Ends after so many intervals.' }),
    },
    ...outputSettings,
    ...clientSettings,
  },
  prepare(configuration) {
    const { interval: intervalMs, count, json } = configuration.values
    return withClient(
      configuration,
      async (tenure, host, role) => {
        const ending = new AbortController()
        void awaitStopSignal(host).then(() => ending.abort())
        const options = { intervalMs, count, signal: ending.signal }
        await watchTenure(tenure, role, viewFor(host, json), options)
        return exitCodes.done
      },
      ['admin', 'produce'],
    )
  },
})
