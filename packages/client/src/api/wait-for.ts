import { transientReasons } from '@tenure/protocol'
import { check, RejectedError, TenureError, type TenureErrorCode } from '../errors.js'
import { timedOut } from '../link/call-errors.js'
import { type CallOptions, checkCallOptions, type RequestOptions } from '../link/limit.js'

import type { Link } from '../link/link.js'
import { demand } from './demand.js'
import { readTask, type Task } from './facts.js'

export interface WaitOptions extends CallOptions {
  /** Initial polling interval; each interval is 1.5 times the previous one, up to 2 s. Default 50. */
  readonly pollMs?: number | undefined
}

const pollMsDefault = 50
const pollMsMax = 2000
const growth = 1.5

/**
 * Polls until the task has ended, because the protocol has no notifications. Each request has its own timeout,
 * and a failed request is retried, since a coordinator may be away for longer.
 */
export async function waitFor(link: Link, taskId: number, options: WaitOptions): Promise<Task> {
  checkCallOptions(options, ['pollMs'])
  const { signal, timeoutMs = Number.POSITIVE_INFINITY, pollMs = pollMsDefault } = options
  const { clock } = link
  const until = clock.monotonicMs() + timeoutMs
  const leftMs = () => until - clock.monotonicMs()
  let pauseMs = check.duration('pollMs', pollMs)
  for (;;) {
    const questionMs = Math.max(1, Math.min(link.requestTimeoutMs, leftMs()))
    const seen = await look(link, taskId, { signal, timeoutMs: questionMs, retry: true })
    const failure = seen instanceof TenureError ? seen : undefined
    if (!(seen instanceof TenureError) && hasEnded(seen)) return seen
    await link.pause(Math.min(pauseMs, leftMs()), { signal })
    if (leftMs() <= 0) throw timedOut(timeoutMs, { wasSent: false }, failure)
    pauseMs = Math.max(pollMs, Math.min(pauseMs * growth, pollMsMax))
  }
}

/** Returns the task, or a temporary error. */
async function look(
  link: Link,
  taskId: number,
  options: RequestOptions,
): Promise<Task | TenureError> {
  try {
    return readTask((await demand(link, { kind: 'get', taskId }, 'task', options)).task)
  } catch (error) {
    if (error instanceof TenureError && isPassing(error)) return error
    throw error
  }
}

const unanswered: readonly TenureErrorCode[] = [
  'CLIENT_TIMEOUT',
  'CLIENT_DISCONNECTED',
  'CLIENT_UNREACHABLE',
]

function isPassing(error: TenureError): boolean {
  if (error instanceof RejectedError) return transientReasons.includes(error.reason)
  return unanswered.includes(error.code)
}

function hasEnded({ state }: Task): boolean {
  return state !== 'WAITING' && state !== 'LEASED'
}
