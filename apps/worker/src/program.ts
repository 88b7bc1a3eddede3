import {
  defineCommand,
  type Logger,
  type Running,
  readVersions,
  runService,
  type Service,
} from '@tenure/app-kit'
import { Worker, type WorkerOptions } from '@tenure/worker-runtime'
import { describe, endForSure, explain, startupExitCode } from './endings.js'
import { observeWorker } from './events.js'
import { serveHttp } from './http-server.js'
import { toOptions } from './options.js'
import { type Configuration, settings } from './settings.js'

const versions = readVersions(new URL('../../package.json', import.meta.url))

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

/** The worker, with a line for each event and its own words for each end. */
function toService(options: WorkerOptions, configuration: Configuration): Service {
  return {
    facts: { ...versions, name: options.name },
    start: (logger) => start(options, configuration, logger),
    startupExitCode,
    explain: (error) => explain(error, configuration),
    describe,
    failure: 'worker failed',
  }
}

async function start(
  options: WorkerOptions,
  { values }: Configuration,
  logger: Logger,
): Promise<Running> {
  if (options.isolation === 'thread') endForSure()
  const worker = new Worker({ ...options, observer: observeWorker(logger) })
  const { httpHost: host, httpPort: port, httpAllowedHosts: allowedHosts = [] } = values
  // Before there is a coordinator: whoever supervises it shall see that it looks for one.
  const http = port === 'off' ? undefined : await serveHttp(worker, { host, port, allowedHosts })
  logger.info(
    { httpPort: http?.port, coordinators: options.endpoints },
    'looking for a coordinator',
  )
  try {
    await worker.start()
  } catch (error) {
    await http?.close()
    throw error
  }
  const { name, concurrency, queues } = worker
  logger.info({ name, concurrency, queues, httpPort: http?.port }, 'started')
  return {
    ended: worker.ended.finally(() => http?.close()),
    stop: () => worker.stop(),
  }
}
