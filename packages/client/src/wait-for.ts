import { ask } from './ask.js'
import { timedOut } from './call-errors.js'
import { readTask, type Task } from './facts.js'
import type { CallOptions } from './limit.js'
import type { Link } from './link.js'
import { duration } from './values.js'

export interface WaitOptions extends CallOptions {
  /** The first pause between two questions; each one is half as long again, up to 2 s. Default 50. */
  readonly pollMs?: number
}

const pollMsDefault = 50
const pollMsMax = 2000
const growth = 1.5

/** Asks, with growing pauses, until the task has ended: the protocol has no way to be told. */
export async function waitFor(
  link: Link,
  taskId: number,
  { signal, timeoutMs = Number.POSITIVE_INFINITY, pollMs = pollMsDefault }: WaitOptions,
): Promise<Task> {
  const { clock } = link
  duration('timeoutMs', timeoutMs)
  const until = clock.monotonicMs() + timeoutMs
  const leftMs = () => until - clock.monotonicMs()
  let pauseMs = duration('pollMs', pollMs)
  for (;;) {
    const options = {
      signal,
      timeoutMs: Math.max(1, Math.min(link.requestTimeoutMs, leftMs())),
      retry: true,
    }
    const task = readTask((await ask(link, { kind: 'get', taskId }, 'task', options)).task)
    if (hasEnded(task)) return task
    await link.pause(Math.min(pauseMs, leftMs()), { signal })
    if (leftMs() <= 0) throw timedOut(timeoutMs, { wasSent: false })
    pauseMs = Math.max(pollMs, Math.min(pauseMs * growth, pollMsMax))
  }
}

function hasEnded({ state }: Task): boolean {
  return state !== 'WAITING' && state !== 'LEASED'
}
