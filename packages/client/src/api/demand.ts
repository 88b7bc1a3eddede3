import { type Answer, type AnswerKind, type NewRequest, passingReasons } from '@tenure/protocol'
import { check, decidingReasons, RejectedError, TenureError } from '../errors.js'
import { aborted, type CallFacts, closed } from '../link/call-errors.js'
import type { CallOptions, RequestOptions } from '../link/limit.js'
import type { Link } from '../link/link.js'

/** Takes one answer only: every other one, a refusal too, is thrown. `Link.ask` takes whatever comes. */
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
      else reject(unwanted(outcome, request, kind, wasSentBefore))
    })
  })
}

function unwanted(
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
  const message = `${request.kind} was answered by ${answer.kind}; it must be ${kind}`
  return new TenureError('CLIENT_PROTOCOL', message, { outcomeUnknown: true, requestId })
}

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
