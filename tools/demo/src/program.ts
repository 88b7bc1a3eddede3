import { programOf } from '@tenure/harness'
import { AppProcess, cleanEnvironment, type LogLine, type Owner } from '@tenure/testing'

/** Settings by the names of their flags. */
export type Flags = Readonly<Record<string, string | number>>

const programs = {
  coordinator: import.meta.resolve('@tenure/coordinator/package.json'),
  worker: import.meta.resolve('@tenure/worker/package.json'),
  cli: import.meta.resolve('@tenure/cli/package.json'),
}

/** Starts a program in its own process. Ctrl-C does not reach it: its owner stops it. */
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
  // A TENURE_ variable would configure all of the programs.
  const env = cleanEnvironment(process.env)
  return new AppProcess(owner, programOf(programs[name]), { args, env, detached: true, hear })
}

/** Fields that every line has, or that a reader at this terminal does not need. */
const hiddenFields = new Set(['level', 'time', 'msg', 'pid', 'hostname', 'name'])

/** A log line of a program, short enough for a terminal. */
export function showLine(name: string, line: LogLine): string {
  const { time, level, msg } = line
  const fields = Object.entries(line)
    .filter(([field]) => !hiddenFields.has(field))
    .map(
      ([field, value]) => `${field}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
    )
  const clock = time.slice('2026-01-01T'.length, -1)
  const loud = level === 'info' || level === 'debug' ? '' : `${level.toUpperCase()} `
  return `${clock}  ${name.padEnd(11)}  ${loud}${msg}${fields.length > 0 ? `  ${fields.join(' ')}` : ''}`
}
