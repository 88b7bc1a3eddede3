import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** What a process and all it has started have in memory for themselves. Linux only. */
export function memoryOf(pid: number): number {
  const [, kib = '0'] = /^Pss:\s+(\d+) kB$/m.exec(read(pid, 'smaps_rollup')) ?? []
  return childrenOf(pid).reduce((sum, child) => sum + memoryOf(child), Number(kib) * 1024)
}

/** What the files below a directory take on the disk. */
export function diskOf(directory: string): number {
  const entries = readdirSync(directory, { withFileTypes: true, recursive: true })
  return entries
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => {
      // One may go while they are counted.
      const found = statSync(join(parentPath, name), { throwIfNoEntry: false })
      return sum + (found?.blocks ?? 0) * 512
    }, 0)
}

function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((other) => parentOf(other) === pid)
}

/** Behind the command's name, which is in brackets and may hold anything: the state, and the parent. */
function parentOf(pid: number): number {
  const stat = read(pid, 'stat')
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
}

/** Nothing of a process that has just ended. */
function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ESRCH') return ''
    throw error
  }
}
