import { spawnSync } from 'node:child_process'
import { readFileSync, readlinkSync } from 'node:fs'
import { constants, setPriority } from 'node:os'

/** The calling thread's kernel id; `undefined` where its scheduling statistics cannot be read. */
export function watchableThreadId(): number | undefined {
  try {
    const threadId = Number(readlinkSync('/proc/thread-self').split('/').at(-1))
    return waitedMs(threadId) === undefined ? undefined : threadId
  } catch {
    return undefined
  }
}

/**
 * Moves the calling thread to the idle scheduling class: it runs only when a core has nothing else to do.
 * Undoing this needs privileges.
 */
export function stepBack(threadId: number): void {
  // A thread of low priority still delays other threads for a time slice; an idle one yields immediately.
  // Node has no call for this, but util-linux and BusyBox ship `chrt`.
  const { status } = spawnSync('chrt', ['-i', '-p', '0', `${threadId}`], {
    env: { PATH: '/usr/bin:/bin' },
    stdio: 'ignore',
  })
  if (status !== 0) setPriority(constants.priority.PRIORITY_LOW)
}

/**
 * How long a thread of this process has been runnable without a core. `undefined` when the thread has
 * ended or the system is not Linux.
 */
export function waitedMs(threadId: number): number | undefined {
  try {
    const [, waitedNs] = readFileSync(`/proc/self/task/${threadId}/schedstat`, 'utf8').split(' ')
    return Number(waitedNs) / 1e6
  } catch {
    return undefined
  }
}
