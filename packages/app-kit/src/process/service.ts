import { constants } from 'node:os'
import type { Logger } from 'pino'
import { type Host, type StopSignal, stopSignals } from '../host.js'
import { ConfigError } from '../settings/given.js'
import { type Configuration, exposedSecrets, takeSecretsOut } from '../sources/configuration.js'

import { exitCodes } from './endings.js'
import { type LoggingConfiguration, openLogger } from './logger.js'

/** What runs until it is told to stop. */
export interface Running {
  /**
   * Settles with what ended it, as its value or its error; with `undefined` after `stop`. What
   * cannot end by itself has none.
   */
  readonly ended?: Promise<unknown>
  stop(): Promise<unknown>
}

/** A command that runs for long, and tells in log lines what it does. */
export interface Service {
  /** For its first line: which version this is, and where it works. */
  readonly facts: object
  start(logger: Logger): Promise<Running>
  /** How the process ends when it could not start. `misconfigured` is one line, and no log line. */
  exitCodeOfStart(error: unknown): number
  /** What is wrong and what to do. */
  explain(error: unknown): string
  /** For a line beside the explanation: what can be searched for. */
  describe(error: unknown): object
  /** What has failed when it ends by itself: the first words of its last line. */
  readonly failure: string
}

/** Runs it until a signal or a failure ends it, and then the process: what is left of it is dropped. */
export async function runService(
  service: Service,
  configuration: Configuration & LoggingConfiguration,
  host: Host,
): Promise<never> {
  takeSecretsOut(configuration, host)
  const logger = await openLogger(configuration.values, host.stdout)
  for (const file of exposedSecrets(configuration)) {
    logger.warn({ file }, 'a file with a secret can be read by others than its owner: chmod 600')
  }
  return host.exit(await runUntilItEnds(service, logger, host))
}

async function runUntilItEnds(service: Service, logger: Logger, host: Host): Promise<number> {
  const told = awaitStopSignal(host).then((signal) => {
    logger.info({ signal }, 'stopping')
    return undefined
  })
  logger.info(service.facts, 'starting')
  let running: Running | undefined
  try {
    running = await Promise.race([service.start(logger), told])
  } catch (error) {
    const code = service.exitCodeOfStart(error)
    if (code === exitCodes.misconfigured) {
      throw new ConfigError(service.explain(error), { cause: error })
    }
    logger.fatal(service.describe(error), `not started: ${service.explain(error)}`)
    return code
  }
  const cause = running === undefined ? undefined : await untilItEnds(running, told)
  if (cause !== undefined) {
    logger.fatal(service.describe(cause), `${service.failure}: ${service.explain(cause)}`)
    return exitCodes.failed
  }
  logger.info('stopped')
  return exitCodes.done
}

/** Gives the error that ended it, if it was not the signal. */
async function untilItEnds(running: Running, told: Promise<undefined>): Promise<unknown> {
  const stopped = told.then(async () => {
    await running.stop()
    return running.ended
  })
  try {
    return await Promise.race([running.ended ?? stopped, stopped])
  } catch (error) {
    return error
  }
}

/** Settles with the first signal to stop. The second one ends the process where it is. */
export function awaitStopSignal(host: Pick<Host, 'on' | 'exit'>): Promise<StopSignal> {
  return new Promise((resolve) => {
    let wasTold = false
    for (const signal of stopSignals) {
      host.on(signal, () => {
        if (wasTold) host.exit(128 + constants.signals[signal])
        wasTold = true
        resolve(signal)
      })
    }
  })
}
