import type { Host } from '../host.js'
import { exitCodes } from '../process/endings.js'
import { ConfigError, type Reader } from '../settings/given.js'
import { printable } from '../settings/printable.js'
import { byName, type Settings } from '../settings/settings.js'
import { type Configuration, settle, showConfiguration } from '../sources/configuration.js'
import type { Environment } from '../sources/environment.js'
import type { Command } from './command.js'
import { readCommandLine } from './command-line.js'
import { showHelp } from './help.js'

/** Runs a command with the host's arguments and returns the exit code. */
export function runCommand(command: Command, host: Host): Promise<number> {
  return orRefuse(command.name, host, () => obey(command, host.argv.slice(2), host))
}

/** Prints a `ConfigError` as one line. Other errors are bugs and pass through. */
export async function orRefuse(
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

export async function obey(command: Command, args: readonly string[], host: Host): Promise<number> {
  const reader = readerOf(command)
  const { action, given } = readCommandLine(reader, args)
  if (action === 'help') return say(host, showHelp(command))
  if (action === 'version') return say(host, `${command.version}\n`)
  const configuration = settle(reader, given, host.env, command.ignoresOtherVariables)
  // Also for --print-config, which thereby tells whether the command would run.
  const run = command.prepare(configuration)
  return action === 'printConfig' ? say(host, showConfiguration(configuration)) : run(host)
}

/** The configuration of a command without running it, for tests. */
export function configure<S extends Settings>(
  command: Command<S>,
  args: readonly string[],
  env: Environment,
): Configuration<S> {
  const reader = readerOf(command)
  const { given } = readCommandLine(reader, args)
  return settle(reader, given, env, command.ignoresOtherVariables) as Configuration<S>
}

function readerOf({ name, settings }: Command): Reader {
  return { command: name, settings: byName(settings) }
}

export function say(host: Host, text: string): number {
  host.stdout.write(text)
  return exitCodes.done
}
