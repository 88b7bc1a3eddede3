import type { Random } from '@tenure/testing'
import type { Input } from './input.js'

/** Something that reads what others have written, and what has to hold whatever that is. */
export interface Target {
  readonly name: string

  /** A sound input, made by the shipped encoders, or one of parts that are nearly sound. */
  generate(random: Random): Input

  /** Changes one thing about it; `other` is another input, to take from. */
  mutate(random: Random, input: Input, other: Input): Input

  /**
   * Tries it, and says in a few words what came of it: an input with which something new happens is
   * worth changing further. Throws a `Violation` when something does not hold; so is any other error.
   */
  run(input: Input): string | Promise<string>

  /** Gives back what it has taken of the machine. */
  close?(): void
}
