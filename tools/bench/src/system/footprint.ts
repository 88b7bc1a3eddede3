import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** Private memory of a process and its children. Linux only. */
export function memoryOf(pid: number): number {
  const [, kib = '0'] = /^Pss:\s+(\d+) kB$/m.exec(read(pid, 'smaps_rollup')) ?? []
  return childrenOf(pid).reduce((sum, child) => sum + memoryOf(child), Number(kib) * 1024)
}

/** Disk usage of the files below a directory. */
export function diskOf(directory: string): number {
  const entries = readdirSync(directory, { withFileTypes: true, recursive: true })
  return entries
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => {
      // A file may be removed during the count.
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

/**
 * The fields after the command's name, which is in brackets and may contain any character: state,
 * parent.
 */
function parentOf(pid: number): number {
  const stat = read(pid, 'stat')
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
}

/** Empty for a process that has just ended. */
function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ESRCH') return ''
    throw error
  }
}
