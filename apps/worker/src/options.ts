import { existsSync } from 'node:fs'
import { ConfigError, flagOf, toLinkOptions } from '@tenure/app-kit'
import type { WorkerOptions } from '@tenure/worker-runtime'
import { CommandIsolation } from './exec/isolation.js'
import { type Configuration, ownName } from './settings.js'

/** Converts the configuration to the options of the runtime. */
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
    const which = handler === undefined ? 'neither is set' : 'both are set'
    throw new ConfigError(`${which}; set exactly one of ${flagOf('handler')} and ${flagOf('exec')}`)
  }
  if (exec === undefined) {
    requireFile(handler!, origins.get('handler')!)
    return { handler: handler!, isolation }
  }
  if (origins.get('isolation') !== undefined) {
    throw new ConfigError(
      `${origins.get('isolation')} applies only to ${flagOf('handler')}; a command always runs in its own process`,
    )
  }
  return { isolation: new CommandIsolation(exec) }
}

/** `handler` is a path or a file URL. */
function requireFile(handler: string, origin: string): void {
  const file = handler.startsWith('file:') && URL.canParse(handler) ? new URL(handler) : handler
  if (existsSync(file)) return
  throw new ConfigError(
    `${origin} is ${handler}, which does not exist; set it to the path of a module`,
  )
}
