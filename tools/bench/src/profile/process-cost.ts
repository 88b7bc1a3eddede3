import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

/** How often a process and its threads call the kernel, by the call's name, while it is watched by `strace`. */
export async function countCalls(pid: number, seconds: number): Promise<Map<string, number>> {
  const directory = mkdtempSync(join(tmpdir(), 'tenure-strace-'))
  try {
    const summary = join(directory, 'summary')
    const strace = spawn('strace', ['-f', '-c', '-o', summary, '-p', `${pid}`], { stdio: 'ignore' })
    const ended = once(strace, 'exit')
    await pause(seconds * 1000)
    strace.kill('SIGINT')
    await ended
    return readCounts(readFileSync(summary, 'utf8'))
  } finally {
    rmSync(directory, { recursive: true })
  }
}

/** Of each line of a table: percent, seconds, microseconds a call, calls, errors if there are any, the name. */
export function readCounts(table: string): Map<string, number> {
  const lines = table.split('\n').map((line) => line.trim().split(/\s+/))
  const counted = lines.filter(([percent]) => /^\d+\.\d+$/.test(percent ?? ''))
  return new Map(
    counted
      .map((fields) => [fields.at(-1)!, Number(fields[3])] as const)
      .filter(([name]) => name !== 'total'),
  )
}

/** What Linux counts by, on every machine that Node runs on. */
const ticksPerSecond = 100

/** The processor's time that a process has taken, its threads and the kernel's work for it included. */
export function processorSecondsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // Behind the command's name, which may hold anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
}
