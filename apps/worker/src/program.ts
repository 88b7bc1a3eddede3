import { defineCommand, runService } from '@tenure/app-kit'
import { toOptions } from './options.js'
import { toService } from './service.js'
import { settings } from './settings.js'
import { versions } from './versions.js'

export const command = defineCommand({
  name: 'tenure-worker',
  version: versions.version,
  summary:
    'Runs tasks of a Tenure coordinator: with a handler, the default export of a module, or with any command. Stops on SIGTERM or SIGINT, when the tasks at hand have ended or their time is over.',
  settings,
  examples: [
    {
      line: 'tenure-worker --handler ./mail.mjs --queues mail --concurrency 8',
      help: 'Runs the default export of the module, in a thread for each task. What it returns is the result.',
    },
    {
      line: "tenure-worker --exec 'python3 resize.py' --queues images",
      help: 'Runs the command for each task: payload on its standard input, result from its standard output.',
    },
  ],
  prepare(configuration) {
    const options = toOptions(configuration)
    return (host) => runService(toService(options, configuration), configuration, host)
  },
})
