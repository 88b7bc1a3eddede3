import { constants } from 'node:os'
import type { Logger } from 'pino'
import { type Host, type StopSignal, stopSignals } from '../host.js'
import { ConfigError } from '../settings/given-value.js'
import { type Configuration, findExposedSecrets, removeSecrets } from '../sources/configuration.js'

import { exitCodes } from './exit-codes.js'
import { type LoggingConfiguration, openLogger } from './logger.js'

/** A started service. */
export interface Running {
  /**
   * Settles when the service ends: with its cause as the value or the error, or with `undefined` after
   * `stop`. Absent if the service cannot end by itself.
   */
  readonly ended?: Promise<unknown>
  stop(): Promise<unknown>
}

/** A long-running command that logs. */
export interface Service {
  /** Fields of the first log line, such as the version. */
  readonly facts: object
  start(logger: Logger): Promise<Running>
  /** Exit code after a failed startup. `misconfigured` prints one line instead of logging. */
  startupExitCode(error: unknown): number
  /** The error and its remedy, for a person. */
  explain(error: unknown): string
  /** Log fields of the error, to search for. */
  describe(error: unknown): object
  /** Begins the last log line when the service fails while it runs. */
  readonly failure: string
}

/** Runs the service until a signal or a failure ends it, then exits the process. */
export async function runService(
  service: Service,
  configuration: Configuration & LoggingConfiguration,
  host: Host,
): Promise<never> {
  removeSecrets(configuration, host)
  const logger = await openLogger(configuration.values, host.stdout)
  for (const file of findExposedSecrets(configuration)) {
    logger.warn({ file }, 'other users can read this secret file; run chmod 600 on it')
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
    const code = service.startupExitCode(error)
    if (code === exitCodes.misconfigured) {
      throw new ConfigError(service.explain(error), { cause: error })
    }
    logger.fatal(service.describe(error), `startup failed: ${service.explain(error)}`)
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

/** Returns the failure, or `undefined` after a signal. */
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

/** Resolves with the first stop signal. A second one exits the process immediately. */
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
