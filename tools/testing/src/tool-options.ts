import { parseArgs } from 'node:util'

export type OptionTypes = Readonly<Record<string, { readonly type: 'string' | 'boolean' }>>

/** What was typed, by its name. */
export type Typed<O extends OptionTypes> = {
  readonly [N in keyof O]?: O[N]['type'] extends 'string' ? string : boolean
}

/** What was typed makes no sense: it is answered with how the tool is used. */
export class UsageError extends Error {}

/**
 * Runs a tool, whose exit code `run` returns. What was typed and makes no sense is answered with how
 * the tool is used, and `--help` with nothing else.
 */
export async function runTool(
  usage: string,
  args: readonly string[],
  run: (args: readonly string[]) => number | Promise<number>,
): Promise<void> {
  if (args.includes('--help')) {
    process.stdout.write(`${usage}\n`)
    return
  }
  try {
    process.exitCode = await run(args)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    process.stderr.write(`${error.message}\n\n${usage}\n`)
    process.exitCode = 2
  }
}

/** The options of a tool, as they were typed. pnpm hands on the `--` in front of them, too. */
export function parseOptions<O extends OptionTypes>(args: readonly string[], options: O): Typed<O> {
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
