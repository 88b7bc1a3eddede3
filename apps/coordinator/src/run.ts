import { resolve } from 'node:path'
import {
  type CoordinatorOptions,
  type CoordinatorServer,
  startCoordinator,
} from '@tenure/coordinator-server'
import type { Logger } from 'pino'
import { ConfigError } from './config-error.js'
import type { Configuration } from './configuration.js'
import { describe, type ExitCode, exitCodeOfStart, exitCodes, explain } from './endings.js'
import { observeLog, observeServer } from './events.js'
import { awaitStopSignal } from './signals.js'
import { versions } from './versions.js'

/** Runs the coordinator until a signal or a failure ends it. Whatever is left of it may be dropped then. */
export async function run(
  options: CoordinatorOptions,
  { origins }: Configuration,
  logger: Logger,
): Promise<ExitCode> {
  const told = awaitStopSignal().then((signal) => {
    logger.info({ signal }, 'stopping')
    return undefined
  })
  logger.info({ ...versions, dataDir: resolve(options.dataDir ?? '') }, 'starting')
  let server: CoordinatorServer | undefined
  try {
    server = await Promise.race([start(options, logger), told])
  } catch (error) {
    const code = exitCodeOfStart(error)
    if (code === exitCodes.misconfigured)
      throw new ConfigError(explain(error, origins), { cause: error })
    logger.fatal(describe(error), `not started: ${explain(error, origins)}`)
    return code
  }
  const failure = server === undefined ? undefined : await untilItEnds(server, told)
  if (failure !== undefined) {
    logger.fatal(describe(failure), `log failed: ${explain(failure, origins)}`)
    return exitCodes.failed
  }
  logger.info('stopped')
  return exitCodes.stopped
}

function start(options: CoordinatorOptions, logger: Logger): Promise<CoordinatorServer> {
  return startCoordinator({
    ...options,
    log: { ...options.log, observer: observeLog(logger) },
    observer: observeServer(logger),
  })
}

/** Gives the error that ended it, if it was not the signal. */
async function untilItEnds(server: CoordinatorServer, told: Promise<undefined>): Promise<unknown> {
  const stopping = told.then(() => server.stop())
  try {
    return await Promise.race([server.ended, stopping.then(() => server.ended)])
  } catch (error) {
    return error
  }
}
