import type { Answer, AnswerKind, NewRequest } from '@tenure/protocol'
import { RejectedError, TenureError } from './errors.js'
import type { Link } from './link.js'
import type { RequestOptions } from './request-options.js'

/** Asks, and gives the answer that was hoped for; every other one is an error. */
export async function ask<K extends AnswerKind>(
  link: Link,
  request: NewRequest,
  kind: K,
  options: RequestOptions,
): Promise<Extract<Answer, { kind: K }>> {
  return expect(await link.request(request, options), request, kind)
}

/** The answer that was hoped for. */
export function expect<K extends AnswerKind>(
  answer: Answer,
  request: NewRequest,
  kind: K,
): Extract<Answer, { kind: K }> {
  if (answer.kind === kind) return answer as Extract<Answer, { kind: K }>
  const requestId = request.kind === 'submit' ? request.requestId : undefined
  if (answer.kind === 'rejected') throw new RejectedError(answer, { requestId })
  const message = `${request.kind} was answered by ${answer.kind}; it must be ${kind}`
  throw new TenureError('CLIENT_PROTOCOL', message, { outcomeUnknown: true, requestId })
}
