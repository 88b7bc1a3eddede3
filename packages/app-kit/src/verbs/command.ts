import type { Host } from '../host.js'
import type { Settings } from '../settings/settings.js'
import type { Configuration } from '../sources/configuration.js'

/** A shell command: a table of settings, and a function that uses their values. */
export interface Command<S extends Settings = Settings> {
  /** The words to type, such as `tenure-coordinator` or `tenure get`. */
  readonly name: string
  readonly version: string
  /** One or two sentences; the first begins with an imperative verb. */
  readonly summary: string
  readonly settings: S
  readonly examples?: readonly Example[]
  /** Accept unknown `TENURE_` variables, for a shell that sets those of other commands. Hides misspellings. */
  readonly ignoresOtherVariables?: boolean
  /** Checks everything that can be checked without running. `--print-config` calls it, too. */
  prepare(configuration: Configuration<S>): Run
}

export interface Example {
  /** The line to type. */
  readonly line: string
  /** The effect of that line. */
  readonly help: string
}

/** Returns the exit code. A `ConfigError` is printed as one line. */
export type Run = (host: Host) => Promise<number>

/** Infers the types of the values from the table. */
export function defineCommand<const S extends Settings>(command: Command<S>): Command<S> {
  return command
}
