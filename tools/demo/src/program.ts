import { programOf } from '@tenure/harness'
import { AppProcess, cleanEnvironment, type LogLine, type Owner } from '@tenure/testing'

/** Settings of one of them, by the names of their flags. */
export type Flags = Readonly<Record<string, string | number>>

const programs = {
  coordinator: import.meta.resolve('@tenure/coordinator/package.json'),
  worker: import.meta.resolve('@tenure/worker/package.json'),
  cli: import.meta.resolve('@tenure/cli/package.json'),
}

/** One of them, as a process of its own. Ctrl-C is not for it: it is told in its turn. */
export function startProgram(
  owner: Owner,
  name: keyof typeof programs,
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
  return new AppProcess(owner, programOf(programs[name]), { args, env, detached: true, hear })
}

/** What every line has, or what the reader of this terminal does not need. */
const leftOut = new Set(['level', 'time', 'msg', 'pid', 'hostname', 'name'])

/** A line of somebody's log, short enough for a terminal. */
export function showLine(who: string, line: LogLine): string {
  const { time, level, msg } = line
  const fields = Object.entries(line)
    .filter(([name]) => !leftOut.has(name))
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
  const clock = time.slice('2026-01-01T'.length, -1)
  const loud = level === 'info' || level === 'debug' ? '' : `${level.toUpperCase()} `
  return `${clock}  ${who.padEnd(11)}  ${loud}${msg}${fields.length > 0 ? `  ${fields.join(' ')}` : ''}`
}
