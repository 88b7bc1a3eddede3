import type { NewRequest } from '@tenure/protocol'
import { type Answer, type AnswerKind, passingReasons } from '@tenure/protocol'
import { RejectedError, TenureError } from '../errors.js'
import { aborted, type CallFacts, closed } from '../link/call-errors.js'
import type { CallOptions } from '../link/limit.js'
import type { Link } from '../link/link.js'
import { duration } from '../values.js'
import { demand } from './demand.js'

export interface PatientOptions extends CallOptions {
  /** Whether asking twice does nothing twice. */
  readonly retry: boolean
  /** Whether to come back, within the time limit, when the refusal is one that passes by itself. */
  readonly retryLater: boolean
}

const retryAfterMsDefault = 1000

/** Demands, within its time limit again and again where a refusal may be waited out. */
export async function demandPatiently<K extends AnswerKind>(
  link: Link,
  request: NewRequest,
  kind: K,
  { signal, timeoutMs = link.requestTimeoutMs, retry, retryLater }: PatientOptions,
): Promise<Extract<Answer, { kind: K }>> {
  duration('timeoutMs', timeoutMs)
  const until = link.clock.monotonicMs() + timeoutMs
  const requestId = request.kind === 'submit' ? request.requestId : undefined
  let wasSent = false
  for (let leftMs = timeoutMs; ; leftMs = until - link.clock.monotonicMs()) {
    try {
      const options = { signal, timeoutMs: Math.max(1, leftMs), retry, wasSent }
      return await demand(link, request, kind, options)
    } catch (error) {
      const pauseMs = retryLater ? pauseAfter(error) : undefined
      // There is no point in coming back when nobody waits any more.
      if (pauseMs === undefined || link.clock.monotonicMs() + pauseMs >= until) throw error
      // A later refusal does not say what became of an earlier sending either.
      wasSent ||= (error as TenureError).outcomeUnknown
      await rest(link, pauseMs, signal, { wasSent, requestId })
    }
  }
}

/** A pause that, when it is cut short, says what is known of the call. */
async function rest(
  link: Link,
  pauseMs: number,
  signal: AbortSignal | undefined,
  call: CallFacts,
): Promise<void> {
  try {
    await link.pause(pauseMs, { signal })
  } catch (error) {
    const code = error instanceof TenureError ? error.code : undefined
    if (code === 'CLIENT_ABORTED') throw aborted(signal, call)
    if (code === 'CLIENT_CLOSED') throw closed(call)
    throw error
  }
}

function pauseAfter(error: unknown): number | undefined {
  if (!(error instanceof RejectedError) || !passingReasons.includes(error.reason)) return undefined
  return error.retryAfterMs ?? retryAfterMsDefault
}
