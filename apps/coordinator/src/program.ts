import { resolve } from 'node:path'
import { defineCommand, readVersions, runService, type Service } from '@tenure/app-kit'
import { type CoordinatorOptions, startCoordinator } from '@tenure/coordinator-server'
import { describe, exitCodeOfStart, explain } from './endings.js'
import { observeLog, observeServer } from './events.js'
import { toOptions } from './options.js'
import { type Configuration, settings } from './settings.js'

const versions = readVersions(new URL('../../package.json', import.meta.url))

export const command = defineCommand({
  name: 'tenure-coordinator',
  version: versions.version,
  summary:
    'Runs the coordinator of Tenure: keeps its log in a directory, serves clients and workers, and stops on SIGTERM or SIGINT.',
  settings,
  prepare(configuration) {
    const options = toOptions(configuration)
    return (host) => runService(toService(options, configuration), configuration, host)
  },
})

/** The coordinator, with a line for each event and its own words for each end. */
function toService(options: CoordinatorOptions, configuration: Configuration): Service {
  return {
    facts: { ...versions, dataDir: resolve(options.dataDir ?? '') },
    start: (logger) => {
      const log = { ...options.log, observer: observeLog(logger) }
      // The process began for this: its clock that never goes back began with it.
      const recoveringSinceMs = 0
      const observer = observeServer(logger)
      return startCoordinator({ ...options, log, observer, recoveringSinceMs })
    },
    exitCodeOfStart,
    explain: (error) => explain(error, configuration),
    describe,
    failure: 'log failed',
  }
}
