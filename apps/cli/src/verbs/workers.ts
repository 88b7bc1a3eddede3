import { defineVerb } from '@tenure/app-kit'
import { exitCodes } from '../command-line.js'
import { clientSettings, withClient } from '../coordinator/connection.js'
import { showWorkers } from '../show/workers.js'
import { outputSettings, toJsonLine } from '../terminal/json.js'
import { lookOf } from '../terminal/look.js'

export const workers = defineVerb({
  summary:
    'Shows who works: how much at once, what they hold, for which queues. It takes a token with the role admin.',
  examples: [
    { line: 'tenure workers', help: 'Everybody who is connected or holds a lease.' },
    {
      line: `tenure workers --json | jq -r 'select(.connections == 0) | .name'`,
      help: 'Who holds leases and is gone.',
    },
  ],
  settings: { ...outputSettings, ...clientSettings },
  prepare(configuration) {
    const { json } = configuration.values
    return withClient(
      configuration,
      async (tenure, { stdout, stderr, env }) => {
        const [{ workers, leftOut }, { now }] = await Promise.all([
          tenure.workers(),
          tenure.stats(),
        ])
        if (json) stdout.write(workers.map(toJsonLine).join(''))
        else if (workers.length > 0) stdout.write(showWorkers(workers, now, lookOf(stdout, env)))
        if (workers.length === 0) {
          stderr.write('tenure: there are no workers: start one, as tenure-worker --help shows\n')
        }
        if (leftOut > 0) stderr.write(`tenure: there are ${leftOut} more; metrics count them all\n`)
        return exitCodes.done
      },
      ['admin'],
    )
  },
})
