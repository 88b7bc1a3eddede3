import type { LogLine } from '@tenure/testing'

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
