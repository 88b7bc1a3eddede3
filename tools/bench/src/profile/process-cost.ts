import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

/** Counts the system calls of a process and its threads by name, with `strace`. */
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

/**
 * The columns of each line: percent, seconds, microseconds a call, calls, errors if there are any,
 * name.
 */
export function readCounts(table: string): Map<string, number> {
  const lines = table.split('\n').map((line) => line.trim().split(/\s+/))
  const counted = lines.filter(([percent]) => /^\d+\.\d+$/.test(percent ?? ''))
  return new Map(
    counted
      .map((fields) => [fields.at(-1)!, Number(fields[3])] as const)
      .filter(([name]) => name !== 'total'),
  )
}

/** Linux reports CPU time in this unit on every machine that Node runs on. */
const ticksPerSecond = 100

/** CPU time of a process: all threads, and the kernel's work for them. */
export function processorSecondsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The fields start after the command's name, which may contain any character.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
}
