import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { AppProcess, cleanEnvironment, type LogLine, type Owner } from '@tenure/testing'

/** Our own programs. */
export type ProgramName = 'coordinator' | 'worker' | 'cli'

/** Settings of one of them, by the names of their flags. */
export type Flags = Readonly<Record<string, string | number>>

/** One of them, as a process of its own. Ctrl-C is not for it: it is told in its turn. */
export function startProgram(
  owner: Owner,
  name: ProgramName,
  flags: Flags,
  hear?: (line: LogLine) => void,
  words: readonly string[] = [],
): AppProcess {
  const args = [
    ...words,
    ...Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, `${value}`]),
  ]
  // What is set for one of them would be set for all.
  const env = cleanEnvironment(process.env)
  return new AppProcess(owner, binaryOf(name), { args, env, detached: true, hear })
}

function binaryOf(name: ProgramName): string {
  const manifest = createRequire(import.meta.url).resolve(`@tenure/${name}/package.json`)
  return join(dirname(manifest), 'dist/src/main.js')
}
