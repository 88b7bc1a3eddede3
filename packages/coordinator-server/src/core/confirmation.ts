import type { Answer, Reason } from '@tenure/protocol'

/**
 * `semantics` §14: which answers without a record wait for a confirmation where another coordinator can
 * take over the log. The state may have changed since then. A refusal that says nothing about it,
 * and after which the same request can be sent again, need not wait.
 */
const unconfirmedReasons: ReadonlySet<Reason> = new Set<Reason>([
  'MALFORMED',
  'FORBIDDEN',
  'TOO_LARGE',
  'OVERLOADED',
  'NO_SPACE',
  'STOPPING',
  'NOT_ACTIVE',
  'INTERNAL',
  'UNAUTHORIZED',
  'UNSUPPORTED_VERSION',
  'TOO_MANY',
  'PROTOCOL',
])

export function needsConfirmation(answer: Answer): boolean {
  if (answer.kind === 'rejected') return !unconfirmedReasons.has(answer.reason)
  return answer.kind !== 'pong' && answer.kind !== 'withdrawn'
}
