import type { Attempt, Task } from '@tenure/client'
import { printable } from './show/printable.js'
import { showTable } from './show/table.js'
import { showSpan, showTime } from './show/times.js'

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
  /** What is to be said beside it, line by line. */
  readonly notes?: readonly string[]
}

export function tellStory(task: Task): Story {
  const { taskId, attempt, attempts } = task
  return {
    taskId,
    summary: summarize(task),
    events: [
      { at: task.createdAt, what: `submitted to queue ${task.queue}` },
      ...attempts.flatMap(tellAttempt),
      ...tellEnd(task),
    ],
    forgottenAttempts: attempt - attempts.length,
  }
}

function summarize(task: Task): string {
  const { taskId, attempt } = task
  if (attempt === 0) return `Task ${taskId} has not run: it ${tellState(task)}.`
  const why = attempt === 1 ? '' : `: ${tellCauses(task)}`
  return `Task ${taskId} ran ${times(attempt)}${why}. It ${tellState(task)}.`
}

function times(count: number): string {
  return ['', 'once', 'twice'][count] ?? `${count} times`
}

/** Why each attempt but the last one was not the last one. */
function tellCauses({ attempt, attempts }: Task): string {
  const before = attempts.slice(0, -1)
  const forgotten = attempt - attempts.length
  const [only] = before
  if (attempt === 2 && only !== undefined) return tellCause(only)
  const count = (outcome: Attempt['outcome']) =>
    before.filter((attempt) => attempt.outcome === outcome).length
  const parts = [
    ...some(count('EXPIRED'), 'lease expired', 'leases expired'),
    ...some(count('FAILED'), 'attempt failed', 'attempts failed'),
    ...some(forgotten, 'older attempt is not remembered', 'older attempts are not remembered'),
  ]
  return parts.join(', ')
}

function some(count: number, one: string, many: string): string[] {
  return count === 0 ? [] : [`${count} ${count === 1 ? one : many}`]
}

function tellCause({ leaseId, workerId, outcome, cancelled }: Attempt): string {
  if (outcome === 'FAILED') return `worker ${workerId} reported a failure under lease ${leaseId}`
  const late = cancelled ? ' before its report arrived' : ' without a report'
  return `lease ${leaseId} of worker ${workerId} expired${late}`
}

function tellState(task: Task): string {
  const { state, reason, attempts } = task
  const why = reason === undefined ? '' : `: ${firstLineOf(reason)}`
  const last = attempts.at(-1)
  switch (state) {
    case 'WAITING':
      return tellWaiting(task)
    case 'LEASED':
      return `is leased to worker ${last?.workerId} until ${showTime(last?.leaseExpiry ?? 0)}`
    case 'COMPLETED':
      return `was completed by worker ${last?.workerId}`
    case 'FAILED':
      return `failed for good${why}`
    case 'DEAD':
      return `was stopped for good${why}`
  }
}

function tellWaiting({ queue, stateSince, eligibleAt = 0, attempts }: Task): string {
  const last = attempts.at(-1)
  const again = last === undefined ? '' : ' again'
  const since = last === undefined ? '' : `, since ${tellCause(last)}`
  const from = eligibleAt > stateSince ? ` from ${showTime(eligibleAt)} on` : ''
  return `waits${again} for a worker of queue ${queue}${from}${since}`
}

/** As much of it as a sentence bears; the last event has all of it. */
function firstLineOf(text: string): string {
  const [line = ''] = text.split('\n', 1)
  return line.length > 60 ? `${line.slice(0, 59)}…` : line
}

function tellAttempt(own: Attempt): Event[] {
  const { attempt, leaseId, workerId, grantedAt, endedAt, leaseExpiry, outcome } = own
  const granted = { at: grantedAt, attempt, what: `lease ${leaseId} to worker ${workerId}` }
  if (endedAt === undefined) {
    return [{ ...granted, notes: [`runs; lease good until ${showTime(leaseExpiry)}`] }]
  }
  const what = `${ends[outcome]} after ${showSpan(endedAt - grantedAt)}`
  return [granted, { at: endedAt, attempt, what, notes: tellLate(own) }]
}

const ends: Readonly<Record<Attempt['outcome'], string>> = {
  RUNNING: 'still running',
  COMPLETED: 'completed',
  FAILED: 'reported a failure',
  EXPIRED: 'the lease expired',
  DEAD: 'the task was stopped under it',
}

/** Whether the work of an attempt that lost its authority is known to have been done. */
function tellLate({ outcome, cancelled }: Attempt): string[] {
  if (cancelled) {
    return ['a report came later and was CANCELLED:', 'the work was done, its result dropped']
  }
  return outcome === 'EXPIRED' ? ['no report came: how far the work got is not known'] : []
}

function tellEnd({ state, stateSince, reason, failures }: Task): Event[] {
  const why = reason ? `: ${reason}` : ''
  const count = failures === 1 ? '1 failure' : `${failures} failures`
  if (state === 'FAILED') {
    return [{ at: stateSince, what: `FAILED for good after ${count}, no retry left${why}` }]
  }
  return state === 'DEAD' ? [{ at: stateSince, what: `DEAD${why}` }] : []
}

/** The sentence, and below it every event with its time and the time since the one before. */
export function showStory({ summary, events, forgottenAttempts }: Story): string {
  const rows = events.map(({ at, attempt, what, notes = [] }, index) => {
    const since = index === 0 ? '' : `+${showSpan(at - (events[index - 1]?.at ?? at))}`
    return [
      showTime(at),
      since,
      attempt === undefined ? '' : `attempt ${attempt}`,
      [what, ...notes].join('\n'),
    ]
  })
  const gap =
    forgottenAttempts > 0 ? `(The ${forgottenAttempts} oldest attempts are not remembered.)\n` : ''
  return `${printable(summary)}\n\n${gap}${showTable(rows)}`
}
