import { defineCommand, runService } from '@tenure/app-kit'
import { toOptions } from './options.js'
import { toService } from './service.js'
import { settings } from './settings.js'
import { versions } from './versions.js'

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
