import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { AppProcess, cleanEnvironment, type LogLine } from '@tenure/testing'

/** Starts the built program of an app; it ends with the others, the last one first. */
export function startProgram(
  endings: (() => Promise<void>)[],
  name: 'coordinator' | 'worker',
  args: readonly string[],
  hear: (line: LogLine) => void = () => {},
): AppProcess {
  const owner = { teardown: (end: () => Promise<void>) => endings.push(end) }
  const manifest = createRequire(import.meta.url).resolve(`@tenure/${name}/package.json`)
  const program = join(dirname(manifest), 'dist/src/main.js')
  return new AppProcess(owner, program, { args, env: cleanEnvironment(process.env), hear })
}
