import type { Host } from '../host.js'
import { exitCodes } from '../process/exit-codes.js'
import { type CommandSettings, ConfigError } from '../settings/given-value.js'
import { printable } from '../settings/printable.js'
import { byName, type Settings } from '../settings/settings.js'
import {
  type Configuration,
  resolveConfiguration,
  showConfiguration,
} from '../sources/configuration.js'
import type { Environment } from '../sources/environment.js'
import type { Command } from './command.js'
import { readCommandLine } from './command-line.js'
import { showHelp } from './help.js'

/** Runs a command with the host's arguments and returns the exit code. */
export function runCommand(command: Command, host: Host): Promise<number> {
  return reportConfigErrors(command.name, host, () =>
    runWithArguments(command, host.argv.slice(2), host),
  )
}

/** Prints a `ConfigError` as one line. Other errors are bugs and pass through. */
export async function reportConfigErrors(
  name: string,
  host: Host,
  act: () => Promise<number>,
): Promise<number> {
  try {
    return await act()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    // The message may quote the command line or a file.
    host.stderr.write(`${name}: ${printable(error.message)}\n`)
    return exitCodes.misconfigured
  }
}

export async function runWithArguments(
  command: Command,
  args: readonly string[],
  host: Host,
): Promise<number> {
  const known = commandSettings(command)
  const { action, given } = readCommandLine(known, args)
  if (action === 'help') return print(host, showHelp(command))
  if (action === 'version') return print(host, `${command.version}\n`)
  const configuration = resolveConfiguration(known, given, host.env, command.ignoresOtherVariables)
  // Also for --print-config, which thereby tells whether the command would run.
  const run = command.prepare(configuration)
  return action === 'printConfig' ? print(host, showConfiguration(configuration)) : run(host)
}

/** The configuration of a command without running it, for tests. */
export function configure<S extends Settings>(
  command: Command<S>,
  args: readonly string[],
  env: Environment,
): Configuration<S> {
  const known = commandSettings(command)
  const { given } = readCommandLine(known, args)
  return resolveConfiguration(known, given, env, command.ignoresOtherVariables) as Configuration<S>
}

function commandSettings({ name, settings }: Command): CommandSettings {
  return { command: name, settings: byName(settings) }
}

export function print(host: Host, text: string): number {
  host.stdout.write(text)
  return exitCodes.done
}
