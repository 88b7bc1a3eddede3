import type { NewRequest } from '@tenure/protocol'
import { type Answer, type AnswerKind, passingReasons } from '@tenure/protocol'
import { expect } from './ask.js'
import { RejectedError } from './errors.js'
import type { CallOptions } from './limit.js'
import type { Link } from './link.js'
import { duration } from './values.js'

export interface PatientOptions extends CallOptions {
  /** Whether asking twice does nothing twice. */
  readonly retry: boolean
  /** Whether to come back, within the time limit, when the refusal is one that passes by itself. */
  readonly retryLater: boolean
}

const retryAfterMsDefault = 1000

/** Asks, within its time limit again and again where a refusal may be waited out. */
export async function askPatiently<K extends AnswerKind>(
  link: Link,
  request: NewRequest,
  kind: K,
  { signal, timeoutMs = link.requestTimeoutMs, retry, retryLater }: PatientOptions,
): Promise<Extract<Answer, { kind: K }>> {
  duration('timeoutMs', timeoutMs)
  const until = link.clock.monotonicMs() + timeoutMs
  for (let leftMs = timeoutMs; ; leftMs = until - link.clock.monotonicMs()) {
    try {
      const options = { signal, timeoutMs: Math.max(1, leftMs), retry }
      return expect(await link.request(request, options), request, kind)
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
