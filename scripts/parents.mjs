// Ends this process when the process that it works for has gone.
import { readFileSync } from 'node:fs'

/**
 * A signal for the process of pnpm ends pnpm and not what it runs; likewise for npx and for the shell that
 * it starts pnpm in. Then the program gets a signal of its own. In a terminal Ctrl-C reaches all of them.
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

/** The parent, and where the system tells, all others up to npx, if it is one of them. */
function findParents() {
  const parents = [process.ppid]
  try {
    for (let pid = process.ppid; pid > 1; pid = parents.at(-1) ?? 0) {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
      if (/^\d+ \(npm /.test(stat)) return parents
      parents.push(Number(stat.slice(stat.lastIndexOf(')')).split(' ')[2]))
    }
  } catch {
    // Not Linux, or gone already.
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
