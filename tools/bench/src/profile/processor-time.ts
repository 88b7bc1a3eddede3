import { readFileSync } from 'node:fs'

/** What Linux counts by, on every machine that Node runs on. */
const ticksPerSecond = 100

/** The processor's time that a process has taken, its threads and the kernel's work for it included. */
export function processorSecondsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // Behind the command's name, which may hold anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
}
