// Ends this process when the process that started it is gone.
import { readFileSync } from 'node:fs'

/**
 * Sends SIGTERM to this process when pnpm, npx or their shell has ended: a signal for one of them does not reach the
 * program that it runs. (Ctrl-C in a terminal reaches all of them.)
 */
export function endWithParents() {
  const parents = findParents()
  const timer = setInterval(() => {
    if (parents.every(isAlive)) return
    clearInterval(timer)
    process.kill(process.pid, 'SIGTERM')
  }, 500)
  timer.unref()
}

/** The parent, and on Linux all ancestors up to npx, if there is one. */
function findParents() {
  const parents = [process.ppid]
  try {
    for (let pid = process.ppid; pid > 1; pid = parents.at(-1) ?? 0) {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
      if (/^\d+ \(npm /.test(stat)) return parents
      parents.push(Number(stat.slice(stat.lastIndexOf(')')).split(' ')[2]))
    }
  } catch {
    // Not Linux, or the process is already gone.
  }
  return parents.slice(0, 1)
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
