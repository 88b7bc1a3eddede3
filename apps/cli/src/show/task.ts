import type { Attempt, Task } from '@tenure/client'
import { stateCell, styleOfState } from '../tasks/states.js'
import type { Look } from '../terminal/look.js'
import { showSpan, showTime } from '../terminal/times.js'
import { showBytes } from './bytes.js'
import { type Column, showColumns } from './columns.js'
import { showFacts } from './facts.js'

/** A task by itself: what it is, and below that its attempts. */
export function showTask(task: Task, look: Look): string {
  const { attempts, reason, requestId, payload, result, eligibleAt, leaseExpiry } = task
  const facts = showFacts(
    [
      ['task', String(task.taskId)],
      ['state', stateCell(task.state, ` since ${showTime(task.stateSince)}`)],
      ['queue', task.queue],
      ['request', requestId],
      ['created', showTime(task.createdAt)],
      ['eligible', eligibleAt === undefined ? undefined : showTime(eligibleAt)],
      ['lease expires', leaseExpiry === undefined ? undefined : showTime(leaseExpiry)],
      ['reason', reason],
      ['payload', payload && showBytes(payload)],
      ['result', result && showBytes(result)],
    ],
    look,
  )
  return attempts.length === 0 ? facts : `${facts}\n${showColumns(columns, attempts, look)}`
}

const columns: readonly Column<Attempt>[] = [
  { head: 'attempt', right: true, of: ({ attempt }) => String(attempt) },
  { head: 'lease', right: true, of: ({ leaseId }) => String(leaseId) },
  { head: 'worker', cut: true, of: ({ workerId }) => workerId },
  { head: 'granted', of: ({ grantedAt }) => showTime(grantedAt) },
  {
    head: 'took',
    right: true,
    of: ({ grantedAt, endedAt }) => (endedAt === undefined ? '' : showSpan(endedAt - grantedAt)),
  },
  {
    head: 'outcome',
    of: ({ outcome, cancelled }) => ({
      text: cancelled ? `${outcome}, report CANCELLED` : outcome,
      style: styleOfState[outcome],
    }),
  },
]
