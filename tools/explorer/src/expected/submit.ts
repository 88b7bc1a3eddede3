import { type RequestOf, reasons } from '@tenure/protocol'
import { answer, type DecisionContext, type Outcome, record } from './outcome.js'

/** `semantics` §9. */
export function expectSubmit(request: RequestOf<'submit'>, it: DecisionContext): Outcome {
  const { id, requestId, payload } = request
  const isOnItsWay = it.pending.some(
    ({ record }) => record.type === 'TaskCreated' && record.requestId === requestId,
  )
  if (isOnItsWay) return { kind: 'waits' }
  const known = it.tasks.find((task) => task.requestId === requestId)
  if (known === undefined) {
    const { executionWindowMs, retryPolicy } = it.knobs
    const rest = { payload, executionWindowMs, retryPolicy, requestId: requestId! }
    return record({ type: 'TaskCreated', at: it.now, taskId: it.nextLsn, ...rest }, id, it)
  }
  const { taskId } = known
  if (Buffer.compare(it.payloads.payloadOf(taskId), payload) === 0) {
    return answer({ kind: 'submitted', id, taskId, known: true })
  }
  return answer({ kind: 'rejected', id, reason: 'CONFLICT', message: reasons.CONFLICT })
}
