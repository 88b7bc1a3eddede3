import type { Logger, Running, Service } from '@tenure/app-kit'
import { Worker, type WorkerOptions } from '@tenure/worker-runtime'
import { describe, exitCodeOfStart, explain } from './endings.js'
import { observeWorker } from './events.js'
import { serveHttp } from './http-server.js'
import type { Configuration } from './settings.js'
import { endForSure } from './sure-end.js'
import { versions } from './versions.js'

/** The worker, with a line for each event and its own words for each end. */
export function toService(options: WorkerOptions, configuration: Configuration): Service {
  return {
    facts: { ...versions, name: options.name },
    start: (logger) => start(options, configuration, logger),
    exitCodeOfStart,
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
