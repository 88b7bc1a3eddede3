import type { Host } from '../host.js'
import type { Settings } from '../settings/settings.js'
import type { Configuration } from '../sources/configuration.js'

/** Something that can be run from a shell: one table of settings, and what is done with their values. */
export interface Command<S extends Settings = Settings> {
  /** What is typed, as `tenure-coordinator` or `tenure get`. */
  readonly name: string
  readonly version: string
  /** What it does, in a sentence or two. */
  readonly summary: string
  readonly settings: S
  readonly examples?: readonly Example[]
  /** For what is run by hand where the variables of other commands stand, too. Misspelt ones are not noticed then. */
  readonly ignoresOtherVariables?: boolean
  /** Checks all that can be checked without running, so that --print-config says whether it would. */
  prepare(configuration: Configuration<S>): Run
}

/** A line to type, and what comes of it. */
export interface Example {
  readonly line: string
  readonly help: string
}

/** Gives the exit code. A ConfigError says in one line what is configured wrongly. */
export type Run = (host: Host) => Promise<number>

/** Lets the types of the values follow from the table. */
export function defineCommand<const S extends Settings>(command: Command<S>): Command<S> {
  return command
}
