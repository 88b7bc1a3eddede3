import { type Answer, type AnswerKind, type NewRequest, transientReasons } from '@tenure/protocol'
import { check, decidingReasons, protocolError, RejectedError, TenureError } from '../errors.js'
import { aborted, type CallFacts, closed } from '../link/call-errors.js'
import type { CallOptions, RequestOptions } from '../link/limit.js'
import type { Link } from '../link/link.js'

/** Resolves to an answer of the expected kind; any other answer, rejections included, is thrown. */
export function demand<K extends AnswerKind>(
  link: Link,
  request: NewRequest,
  kind: K,
  options: RequestOptions,
): Promise<Extract<Answer, { kind: K }>> {
  return new Promise((resolve, reject) => {
    link.ask(request, options, (outcome, wasSentBefore) => {
      if (outcome instanceof Error) reject(outcome)
      else if (outcome.kind === kind) resolve(outcome as Extract<Answer, { kind: K }>)
      else reject(unexpectedAnswer(outcome, request, kind, wasSentBefore))
    })
  })
}

function unexpectedAnswer(
  answer: Answer,
  request: NewRequest,
  kind: AnswerKind,
  wasSentBefore: boolean,
): TenureError {
  const requestId = request.kind === 'submit' ? request.requestId : undefined
  if (answer.kind === 'rejected') {
    const outcomeUnknown = wasSentBefore && !decidingReasons.includes(answer.reason)
    return new RejectedError(answer, { requestId, outcomeUnknown })
  }
  const message = `unexpected answer ${answer.kind} to ${request.kind}; expected ${kind}`
  return protocolError(message, { outcomeUnknown: true, requestId })
}

export interface DemandRetryOptions extends CallOptions {
  /** Whether the request is idempotent, so that it may be sent again. */
  readonly retry: boolean
  /** Whether to retry, within the timeout, after a temporary rejection. */
  readonly retryLater: boolean
}

const retryAfterMsDefault = 1000

/** Calls `demand`, and retries temporary rejections within the timeout. */
export async function demandWithRetry<K extends AnswerKind>(
  link: Link,
  request: NewRequest,
  kind: K,
  { signal, timeoutMs = link.requestTimeoutMs, retry, retryLater }: DemandRetryOptions,
): Promise<Extract<Answer, { kind: K }>> {
  check.duration('timeoutMs', timeoutMs)
  const until = link.clock.monotonicMs() + timeoutMs
  const requestId = request.kind === 'submit' ? request.requestId : undefined
  let wasSent = false
  for (let leftMs = timeoutMs; ; leftMs = until - link.clock.monotonicMs()) {
    try {
      const options = { signal, timeoutMs: Math.max(1, leftMs), retry, wasSent }
      return await demand(link, request, kind, options)
    } catch (error) {
      const pauseMs = retryLater ? pauseAfter(error) : undefined
      // Do not retry after the timeout.
      if (pauseMs === undefined || link.clock.monotonicMs() + pauseMs >= until) throw error
      // A later rejection does not tell whether an earlier attempt was carried out.
      wasSent ||= (error as TenureError).outcomeUnknown
      await pauseBeforeRetry(link, pauseMs, signal, { wasSent, requestId })
    }
  }
}

/** Pauses between attempts. If the pause is interrupted, the error reflects the state of the call. */
async function pauseBeforeRetry(
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
  if (!(error instanceof RejectedError) || !transientReasons.includes(error.reason))
    return undefined
  return error.retryAfterMs ?? retryAfterMsDefault
}
