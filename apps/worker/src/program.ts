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
    'Run the tasks of a Tenure coordinator, with a JavaScript handler or with any command. SIGTERM or SIGINT stops the worker after its running tasks have ended, or after --drain-grace.',
  settings,
  examples: [
    {
      line: 'tenure-worker --handler ./mail.mjs --queues mail --concurrency 8',
      help: 'Run the default export of mail.mjs in one thread per task. Its return value is the result.',
    },
    {
      line: "tenure-worker --exec 'python3 resize.py' --queues images",
      help: 'Run the command for each task. Standard input is the payload, standard output the result.',
    },
  ],
  prepare(configuration) {
    const options = toOptions(configuration)
    return (host) => runService(toService(options, configuration), configuration, host)
  },
})

/** The worker as a service, with its own log lines and exit codes. */
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
  // Opened before there is a coordinator, so that a supervisor sees that the worker is looking for one.
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
