import { parseArgs } from 'node:util'

type Options = Readonly<Record<string, { readonly type: 'string' | 'boolean' }>>

/** What was typed, by its name. */
type Typed<O extends Options> = {
  readonly [N in keyof O]?: O[N]['type'] extends 'string' ? string : boolean
}

/** What was typed makes no sense: it is answered with how the tool is used. */
export class UsageError extends Error {}

/** The options of a tool, as they were typed. pnpm hands on the `--` in front of them, too. */
export function parseOptions<O extends Options>(args: readonly string[], options: O): Typed<O> {
  try {
    return parseArgs({ args: args.filter((arg) => arg !== '--'), options }).values as Typed<O>
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

/** How long something lasts, in any unit. */
export function parseAmount(name: string, given: string, max: number): number {
  const value = Number(given)
  if (value > 0 && value <= max) return value
  throw new UsageError(`--${name} is ${given}; it must be a number above 0, up to ${max}`)
}

export function parseWhole(name: string, given: string): number {
  const value = Number(given)
  if (Number.isSafeInteger(value) && value >= 1) return value
  throw new UsageError(`--${name} is ${given}; it must be a whole number above 0`)
}
