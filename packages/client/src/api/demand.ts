import type { Answer, AnswerKind, NewRequest } from '@tenure/protocol'
import { decidingReasons, RejectedError, TenureError } from '../errors.js'
import type { RequestOptions } from '../link/limit.js'
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
