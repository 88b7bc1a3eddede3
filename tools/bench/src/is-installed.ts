import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Whether there is such a program: a path, or a name to be looked for. */
export function isInstalled(program: string): boolean {
  const directories = (process.env.PATH ?? '').split(delimiter)
  return existsSync(program) || directories.some((path) => existsSync(join(path, program)))
}
