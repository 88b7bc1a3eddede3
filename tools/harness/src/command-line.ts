import { parseArgs } from 'node:util'

/** Options by their names: those with a value, and those without one. */
export type OptionTypes = Readonly<Record<string, 'string' | 'boolean'>>

/** What was typed, by its name. */
export type Typed<O extends OptionTypes> = {
  readonly [N in keyof O]?: O[N] extends 'string' ? string : boolean
}

/** What was typed makes no sense: it is answered with how the tool is used. */
export class UsageError extends Error {}

/**
 * Runs a tool, whose exit code `run` returns. What was typed and makes no sense is answered with how
 * the tool is used, and `--help` with nothing else.
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

/** The same for a tool that has to end what it has begun: a signal aborts `signal`, and is the exit code then. */
export async function runStoppableTool(
  usage: string,
  run: (args: readonly string[], signal: AbortSignal) => Promise<number>,
): Promise<void> {
  const stopping = new AbortController()
  for (const [name, code] of Object.entries(exitCodes)) {
    // A second one, by a terminal and by the process that started it, says nothing more.
    process.on(name, () => stopping.abort(code))
  }
  try {
    await runTool(usage, (args) => run(args, stopping.signal))
  } catch (error) {
    if (!stopping.signal.aborted) throw error
  }
  if (stopping.signal.aborted) process.exitCode = stopping.signal.reason
}

/** What was typed, for a script that goes on from there; what makes no sense, and `--help`, end it. */
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

/** The same where nothing but options is typed. */
export function readOptions<O extends OptionTypes>(usage: string, options: O): Promise<Typed<O>> {
  return readCommandLine(usage, (args) => parseOptions(args, options))
}

/** The options of a tool, as they were typed. pnpm hands on the `--` in front of them, too. */
export function parseOptions<O extends OptionTypes>(args: readonly string[], options: O): Typed<O> {
  try {
    const types = Object.entries(options).map(([name, type]) => [name, { type }] as const)
    const given = args.filter((arg) => arg !== '--')
    return parseArgs({ args: given, options: Object.fromEntries(types) }).values as Typed<O>
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
