import { resolve } from 'node:path'
import type { Service } from '@tenure/app-kit'
import { type CoordinatorOptions, startCoordinator } from '@tenure/coordinator-server'
import { describe, exitCodeOfStart, explain } from './endings.js'
import { observeLog, observeServer } from './events.js'
import type { Configuration } from './settings.js'
import { versions } from './versions.js'

/** The coordinator, with a line for each event and its own words for each end. */
export function toService(options: CoordinatorOptions, configuration: Configuration): Service {
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
