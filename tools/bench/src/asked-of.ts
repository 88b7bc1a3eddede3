import { type OptionTypes, parseOptions, runTool, type Typed } from '@tenure/testing'

/** What was typed. A question for help, and what makes no sense, is answered, and ends the process. */
export async function askedOf<O extends OptionTypes>(usage: string, options: O): Promise<Typed<O>> {
  return readAsked(usage, (args) => parseOptions(args, options))
}

/** The same, read by somebody else. */
export async function readAsked<T>(
  usage: string,
  read: (args: readonly string[]) => T,
): Promise<T> {
  let asked: T | undefined
  await runTool(usage, process.argv.slice(2), (args) => {
    asked = read(args)
    return 0
  })
  return asked ?? process.exit()
}
