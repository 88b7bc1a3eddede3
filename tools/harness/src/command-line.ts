import { parseArgs } from 'node:util'

/** Options by name: with a value (`string`) or without one (`boolean`). */
export type OptionTypes = Readonly<Record<string, 'string' | 'boolean'>>

/** The given options, by name. */
export type Typed<O extends OptionTypes> = {
  readonly [N in keyof O]?: O[N] extends 'string' ? string : boolean
}

/** The command line is invalid. The tool prints its usage. */
export class UsageError extends Error {}

/**
 * Runs a tool with the exit code that `run` returns. For a `UsageError` it prints the error and the usage;
 * for `--help`, the usage.
 */
export async function runTool(
  usage: string,
  run: (args: readonly string[]) => number | Promise<number>,
  args: readonly string[] = process.argv.slice(2),
): Promise<void> {
  if (args.includes('--help')) {
    process.stdout.write(`Usage: ${usage}\n`)
    return
  }
  try {
    process.exitCode = await run(args)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    process.stderr.write(`${error.message}\n\nUsage: ${usage}\n`)
    process.exitCode = 2
  }
}

const exitCodes = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const

/** Runs a tool that has to clean up. A signal aborts `signal` and sets the exit code. */
export async function runStoppableTool(
  usage: string,
  run: (args: readonly string[], signal: AbortSignal) => Promise<number>,
): Promise<void> {
  const stopping = new AbortController()
  for (const [name, code] of Object.entries(exitCodes)) {
    // A second signal, from a terminal and from the parent process for example, has no effect.
    process.on(name, () => stopping.abort(code))
  }
  try {
    await runTool(usage, (args) => run(args, stopping.signal))
  } catch (error) {
    if (!stopping.signal.aborted) throw error
  }
  if (stopping.signal.aborted) process.exitCode = stopping.signal.reason
}

/** Reads the command line of a script. An invalid one, and `--help`, end the script. */
export async function readCommandLine<T>(
  usage: string,
  read: (args: readonly string[]) => T,
): Promise<T> {
  let typed: T | undefined
  await runTool(usage, (args) => {
    typed = read(args)
    return 0
  })
  return typed ?? process.exit()
}

/** Reads the command line of a script that has only options. */
export function readOptions<O extends OptionTypes>(usage: string, options: O): Promise<Typed<O>> {
  return readCommandLine(usage, (args) => parseOptions(args, options))
}

/** Parses the options. Ignores the `--` that pnpm passes on. */
export function parseOptions<O extends OptionTypes>(args: readonly string[], options: O): Typed<O> {
  try {
    const types = Object.entries(options).map(([name, type]) => [name, { type }] as const)
    const given = args.filter((arg) => arg !== '--')
    return parseArgs({ args: given, options: Object.fromEntries(types) }).values as Typed<O>
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

/** A positive amount, in any unit. */
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
