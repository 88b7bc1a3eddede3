import { spawnSync } from 'node:child_process'
import { readFileSync, readlinkSync } from 'node:fs'
import { constants, setPriority } from 'node:os'

/** The number of the calling thread, by which others can watch it; `undefined` where nobody can. */
export function watchableThreadId(): number | undefined {
  try {
    const threadId = Number(readlinkSync('/proc/thread-self').split('/').at(-1))
    return waitedMs(threadId) === undefined ? undefined : threadId
  } catch {
    return undefined
  }
}

/**
 * From now on the calling thread, which has this number, runs only where a processor has nothing else to
 * do. Only who has special rights can bring it to the fore again.
 */
export function stepBack(threadId: number): void {
  // Beside a thread of low priority whoever wakes up waits until that has had its time; one of the idle
  // class makes way at once. Node has no call for it, but util-linux and BusyBox have a command.
  const { status } = spawnSync('chrt', ['-i', '-p', '0', `${threadId}`], {
    env: { PATH: '/usr/bin:/bin' },
    stdio: 'ignore',
  })
  if (status !== 0) setPriority(constants.priority.PRIORITY_LOW)
}

/**
 * How long a thread of this process was ready to run and had no processor. `undefined` where that is
 * not known: the thread has ended, or the system is not Linux.
 */
export function waitedMs(threadId: number): number | undefined {
  try {
    const [, waitedNs] = readFileSync(`/proc/self/task/${threadId}/schedstat`, 'utf8').split(' ')
    return Number(waitedNs) / 1e6
  } catch {
    return undefined
  }
}
