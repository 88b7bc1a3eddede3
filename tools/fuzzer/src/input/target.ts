import type { Random } from '@tenure/testing'
import type { Input } from './input.js'

/** Code that reads bytes from others, and the checks that must hold for any input. */
export interface Target {
  readonly name: string

  /** A valid input made by the shipped encoders, or a nearly valid one. */
  generate(random: Random): Input

  /** Changes one thing about the input; parts may come from `other`. */
  mutate(random: Random, input: Input, other: Input): Input

  /**
   * Runs the input and returns its outcome in a few words: an input with a new outcome is worth
   * mutating further. Throws a `Violation` when a check fails; every other error is a violation,
   * too.
   */
  run(input: Input): string | Promise<string>

  /** Releases files and other resources. */
  close?(): void
}
