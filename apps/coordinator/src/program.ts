import { resolve } from 'node:path'
import { defineCommand, readVersions, runService, type Service } from '@tenure/app-kit'
import { type CoordinatorOptions, startCoordinator } from '@tenure/coordinator-server'
import { describe, explain, startupExitCode } from './endings.js'
import { observeLog, observeServer } from './events.js'
import { toOptions } from './options.js'
import { type Configuration, settings } from './settings.js'

const versions = readVersions(new URL('../../package.json', import.meta.url))

export const command = defineCommand({
  name: 'tenure-coordinator',
  version: versions.version,
  summary:
    'Run the Tenure coordinator, which stores tasks in a log and serves clients and workers.',
  settings,
  prepare(configuration) {
    const options = toOptions(configuration)
    return (host) => runService(toService(options, configuration), configuration, host)
  },
})

/** The coordinator as a service that logs its events and explains its errors. */
function toService(options: CoordinatorOptions, configuration: Configuration): Service {
  return {
    facts: { ...versions, dataDir: resolve(options.dataDir ?? '') },
    start: (logger) => {
      const log = { ...options.log, observer: observeLog(logger) }
      // The process runs only a coordinator, and its monotonic clock started with it.
      const recoveringSinceMs = 0
      const observer = observeServer(logger)
      return startCoordinator({ ...options, log, observer, recoveringSinceMs })
    },
    startupExitCode,
    explain: (error) => explain(error, configuration),
    describe,
    failure: 'log failed',
  }
}
