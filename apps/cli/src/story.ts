import type { Attempt, Task } from '@tenure/client'
import { showTable } from './table.js'
import { showSpan, showTime } from './times.js'

/** What became of a task, and why: nothing in it that the coordinator's own record does not say. */
export interface Story {
  readonly taskId: number
  /** One sentence that answers the question. */
  readonly summary: string
  readonly events: readonly Event[]
  /** Attempts that the task does not remember: it keeps the last 32. */
  readonly forgottenAttempts: number
}

interface Event {
  readonly at: number
  readonly attempt?: number
  readonly what: string
}

export function tellStory(task: Task): Story {
  const { taskId, attempt, attempts } = task
  return {
    taskId,
    summary: `Task ${taskId} ${summarize(task)}.`,
    events: [
      { at: task.createdAt, what: `submitted to queue ${task.queue}` },
      ...attempts.flatMap(tellAttempt),
      ...tellEnd(task),
    ],
    forgottenAttempts: attempt - attempts.length,
  }
}

function summarize(task: Task): string {
  const { attempt, attempts } = task
  if (attempt === 0) return `has not run yet: it ${tellState(task)}`
  const before = attempts.slice(0, -1)
  const why = attempt === 1 ? '' : ` because ${tellCauses(before, attempt - attempts.length)}`
  return `ran ${times(attempt)}${why}; it ${tellState(task)}`
}

function times(count: number): string {
  return ['', 'once', 'twice'][count] ?? `${count} times`
}

/** Why each attempt but the last one was not the last one. */
function tellCauses(attempts: readonly Attempt[], forgotten: number): string {
  const [only] = attempts
  if (attempts.length === 1 && forgotten === 0 && only !== undefined) return tellCause(only)
  const count = (outcome: Attempt['outcome']) =>
    attempts.filter((attempt) => attempt.outcome === outcome).length
  const parts = [
    ...some(count('EXPIRED'), 'lease expired', 'leases expired'),
    ...some(count('FAILED'), 'attempt failed', 'attempts failed'),
    ...some(forgotten, 'older attempt is not remembered', 'older attempts are not remembered'),
  ]
  return parts.join(' and ')
}

function some(count: number, one: string, many: string): string[] {
  return count === 0 ? [] : [`${count} ${count === 1 ? one : many}`]
}

function tellCause({ leaseId, workerId, outcome, cancelled }: Attempt): string {
  if (outcome === 'FAILED') return `worker ${workerId} reported a failure under lease ${leaseId}`
  const late = cancelled ? ' before its report arrived' : ' without a report'
  return `lease ${leaseId} of worker ${workerId} expired${late}`
}

function tellState({ state, reason, eligibleAt, attempts }: Task): string {
  const why = reason === undefined ? '' : ` (${reason.split('\n', 1)[0]})`
  const last = attempts.at(-1)
  switch (state) {
    case 'WAITING':
      return eligibleAt === undefined
        ? 'waits'
        : `waits, and may be leased from ${showTime(eligibleAt)} on`
    case 'LEASED':
      return `is leased to worker ${last?.workerId} until ${showTime(last?.leaseExpiry ?? 0)}`
    case 'COMPLETED':
      return `was completed by worker ${last?.workerId}`
    case 'FAILED':
      return `failed for good${why}`
    case 'DEAD':
      return `was stopped${why}`
  }
}

function tellAttempt(own: Attempt): Event[] {
  const { attempt, leaseId, workerId, grantedAt, endedAt, leaseExpiry } = own
  const granted = { at: grantedAt, attempt, what: `lease ${leaseId} granted to worker ${workerId}` }
  if (endedAt === undefined) {
    return [
      granted,
      { at: grantedAt, attempt, what: `runs; its lease is good until ${showTime(leaseExpiry)}` },
    ]
  }
  return [
    granted,
    {
      at: endedAt,
      attempt,
      what: `${ends[own.outcome]} after ${showSpan(endedAt - grantedAt)}${tellLate(own)}`,
    },
  ]
}

const ends: Readonly<Record<Attempt['outcome'], string>> = {
  RUNNING: 'still running',
  COMPLETED: 'completed',
  FAILED: 'reported a failure',
  EXPIRED: 'the lease expired',
  DEAD: 'the task was stopped under it',
}

/** Whether the work of an attempt that lost its authority is known to have been done. */
function tellLate({ outcome, cancelled }: Attempt): string {
  if (cancelled)
    return '; a report came after that and was CANCELLED: the work was done, its result dropped'
  return outcome === 'EXPIRED' ? '; no report has come: how far the work got is not known' : ''
}

function tellEnd({ state, stateSince, reason, failures }: Task): Event[] {
  if (state === 'FAILED')
    return [{ at: stateSince, what: `FAILED for good: no retry left after ${failures} failures` }]
  if (state === 'DEAD') return [{ at: stateSince, what: `DEAD${reason ? `: ${reason}` : ''}` }]
  return []
}

/** The sentence, and below it every event with its time and the time since the one before. */
export function showStory({ summary, events, forgottenAttempts }: Story): string {
  const rows = events.map(({ at, attempt, what }, index) => {
    const since = index === 0 ? '' : `+${showSpan(at - (events[index - 1]?.at ?? at))}`
    return [showTime(at), since, attempt === undefined ? '' : `attempt ${attempt}`, what]
  })
  const gap =
    forgottenAttempts > 0 ? `(${forgottenAttempts} older attempts are not remembered)\n` : ''
  return `${summary}\n\n${gap}${showTable(rows)}`
}
