import { existsSync } from 'node:fs'
import { ConfigError, flagOf, toLinkOptions } from '@tenure/app-kit'
import type { WorkerOptions } from '@tenure/worker-runtime'
import { CommandIsolation } from './exec/isolation.js'
import { type Configuration, ownName } from './settings.js'

/** What the runtime is told. */
export function toOptions(configuration: Configuration): WorkerOptions {
  const { values } = configuration
  const { queues, concurrency, pollWait, abortGrace, drainGrace, name, giveUpAfter } = values
  return {
    ...toLinkOptions(configuration),
    ...toIsolation(configuration),
    queues,
    name: name ?? ownName(),
    processMetrics: true,
    keepGoing: values.keepGoing,
    concurrency,
    giveUpAfterMs: giveUpAfter,
    pollWaitMs: pollWait,
    abortGraceMs: abortGrace,
    drainGraceMs: drainGrace,
  }
}

function toIsolation({
  values,
  origins,
}: Configuration): Pick<WorkerOptions, 'handler' | 'isolation'> {
  const { handler, exec, isolation } = values
  if ((handler === undefined) === (exec === undefined)) {
    const which = handler === undefined ? 'neither is there' : 'both are there'
    throw new ConfigError(
      `either ${flagOf('handler')} or ${flagOf('exec')} says what runs; ${which}`,
    )
  }
  if (exec === undefined) {
    requireFile(handler!, origins.get('handler')!)
    return { handler: handler!, isolation }
  }
  if (origins.get('isolation') !== undefined) {
    throw new ConfigError(
      `${origins.get('isolation')} says where a handler runs; a command always has a process of its own`,
    )
  }
  return { isolation: new CommandIsolation(exec) }
}

/** The runtime takes a path or the URL of a file. */
function requireFile(handler: string, origin: string): void {
  const file = handler.startsWith('file:') && URL.canParse(handler) ? new URL(handler) : handler
  if (existsSync(file)) return
  throw new ConfigError(`${origin} ${handler}: there is no such file`)
}
