import { passingReasons } from '@tenure/protocol'
import { ask } from './ask.js'
import { RejectedError } from './errors.js'
import type { CallOptions } from './limit.js'
import type { Link } from './link.js'
import type { NewSubmit } from './submission.js'
import { duration } from './values.js'

/** The task is on the coordinator's disk. */
export interface Submitted {
  readonly taskId: number
  /** It had been submitted before under its `requestId`. */
  readonly known: boolean
}

const retryAfterMsDefault = 1000

/** With a `requestId` asking again is safe; and a refusal that passes may be waited out. */
export async function submit(
  link: Link,
  request: NewSubmit,
  { signal, timeoutMs = link.requestTimeoutMs, retryLater }: CallOptions & { retryLater: boolean },
): Promise<Submitted> {
  const retry = request.requestId !== undefined
  duration('timeoutMs', timeoutMs)
  const until = link.clock.monotonicMs() + timeoutMs
  for (let leftMs = timeoutMs; ; leftMs = until - link.clock.monotonicMs()) {
    try {
      const options = { signal, timeoutMs: Math.max(1, leftMs), retry }
      const { taskId, known } = await ask(link, request, 'submitted', options)
      return { taskId, known }
    } catch (error) {
      const pauseMs = retryLater ? pauseAfter(error) : undefined
      // There is no point in coming back when nobody waits any more.
      if (pauseMs === undefined || link.clock.monotonicMs() + pauseMs >= until) throw error
      await link.pause(pauseMs, { signal })
    }
  }
}

function pauseAfter(error: unknown): number | undefined {
  if (!(error instanceof RejectedError) || !passingReasons.includes(error.reason)) return undefined
  return error.retryAfterMs ?? retryAfterMsDefault
}
