#!/usr/bin/env node
import { ConfigError } from './config-error.js'
import { type Configuration, configure } from './configuration.js'
import { toOptions } from './coordinator-options.js'
import { showConfiguration } from './effective-values.js'
import { exitCodes } from './endings.js'
import { readFlags } from './flags.js'
import { showHelp } from './help.js'
import { openLogger } from './logger.js'
import { run } from './run.js'
import { exposedSecrets } from './secret-files.js'
import { versions } from './versions.js'

try {
  const { action, given } = readFlags(process.argv.slice(2))
  if (action === 'help') process.stdout.write(showHelp())
  else if (action === 'version') process.stdout.write(`${versions.version}\n`)
  else await obey(configure(given, process.env), action === 'printConfig')
} catch (error) {
  if (!(error instanceof ConfigError)) throw error
  process.stderr.write(`tenure-coordinator: ${error.message}\n`)
  process.exitCode = exitCodes.misconfigured
}

async function obey(configuration: Configuration, isOnlyShown: boolean): Promise<void> {
  // Reads every file that is named, also for those who only want to see whether it would start.
  const options = toOptions(configuration)
  if (isOnlyShown) {
    process.stdout.write(showConfiguration(configuration))
    return
  }
  const logger = await openLogger(configuration.values)
  for (const file of exposedSecrets(configuration)) {
    logger.warn({ file }, 'a file with a secret can be read by others than its owner: chmod 600')
  }
  process.exit(await run(options, configuration, logger))
}
