import type { Why } from '@tenure/client'
import { showFacts } from './facts.js'
import type { Look } from './look.js'
import { countOf, showCount } from './numbers.js'
import { printable } from './printable.js'
import { stateCell } from './states.js'
import { showAge, showSpan, showTime } from './times.js'

/** A queue that was asked for so long ago looks as if nobody served it. */
const forsakenMs = 30_000

/** The sentence that answers the question. */
export function answerWhy(taskId: number, why: Why): string {
  const { state, now, eligibleAt = 0 } = why
  const task = `Task ${taskId}`
  if (state === 'LEASED') return `${task} runs: ${tellLease(why)}.`
  if (state !== 'WAITING') {
    return `${task} will not run again: it is ${state} since ${showAge(why.stateSince, now)}.`
  }
  if (eligibleAt > now) {
    return `${task} waits for its time: it may be leased in ${showSpan(eligibleAt - now)}, from ${showTime(eligibleAt)} on.`
  }
  return `${task} waits for a worker: ${tellQueue(why)}.`
}

function tellLease({ lease, now, workerLastHeardAt }: Why): string {
  if (lease === undefined) return 'who has it is not known'
  const { workerId, leaseExpiry, attempt } = lease
  const holder = `worker ${workerId} has attempt ${attempt}`
  if (leaseExpiry > now) return `${holder}, its lease is good for ${showSpan(leaseExpiry - now)}`
  const heard =
    workerLastHeardAt === undefined ? 'never' : `last ${showAge(workerLastHeardAt, now)}`
  return `${holder}, but its lease expired ${showAge(leaseExpiry, now)} and it was heard of ${heard}; the next worker that asks gets the task`
}

function tellQueue(why: Why): string {
  const { queue, ahead = 0, aheadIsMore, pollsWaiting, queueLastAskedAt, now, startedAt } = why
  const before = `${aheadIsMore ? 'more than ' : ''}${countOf(ahead, 'task')} of queue ${queue} ${ahead === 1 && !aheadIsMore ? 'is' : 'are'} before it`
  const first = ahead === 0 ? `it is the next one of queue ${queue}` : before
  if (pollsWaiting > 0)
    return `${first}, and ${countOf(pollsWaiting, 'worker')} asked and wait for one`
  if (queueLastAskedAt === undefined) {
    const since = startedAt === undefined ? '' : `, ${showAge(startedAt, now)}`
    return `nobody has asked for tasks of queue ${queue} since the coordinator started${since}`
  }
  const last = showAge(queueLastAskedAt, now)
  return now - queueLastAskedAt >= forsakenMs
    ? `nobody asks for tasks of queue ${queue}; the last time was ${last}`
    : `${first}, and whoever serves it is busy; it was asked for ${last}`
}

/** That nobody is likely to run it, for whoever waits for its end; `undefined` where somebody may. */
export function tellUnserved(taskId: number, why: Why): string | undefined {
  const { state, queue, now, eligibleAt = 0, pollsWaiting, queueLastAskedAt, startedAt } = why
  if (state !== 'WAITING' || eligibleAt > now || pollsWaiting > 0) return undefined
  // A worker comes back within seconds after a restart.
  if (now - (queueLastAskedAt ?? startedAt ?? 0) < forsakenMs) return undefined
  const hint = `is a worker running with --queues ${queue}? tenure why ${taskId} tells more`
  return printable(`${answerWhy(taskId, why).replace(/\.$/, '')}: ${hint}`)
}

/** The sentence, and below it the facts that it is taken from. */
export function showWhy(taskId: number, why: Why, look: Look): string {
  const { state, stateSince, queue, lease, now, ahead, aheadIsMore } = why
  const ago = (atMs: number | undefined) =>
    atMs === undefined ? undefined : `${showTime(atMs)}, ${showAge(atMs, now)}`
  const facts = showFacts(
    [
      ['state', stateCell(state, ` since ${ago(stateSince)}`)],
      ['queue', queue],
      ['eligible', why.eligibleAt === undefined ? undefined : showTime(why.eligibleAt)],
      [
        'before it',
        ahead === undefined ? undefined : `${aheadIsMore ? 'more than ' : ''}${showCount(ahead)}`,
      ],
      ['worker', lease?.workerId],
      ['lease', lease && `${lease.leaseId}, attempt ${lease.attempt}`],
      ['granted', ago(lease?.grantedAt)],
      ['good until', lease && showTime(lease.leaseExpiry)],
      ['at most until', lease && showTime(lease.windowEnd)],
      ['heard of', ago(why.workerLastHeardAt)],
      ['polls', state === 'WAITING' ? showCount(why.pollsWaiting) : undefined],
      ['asked for', state === 'WAITING' ? (ago(why.queueLastAskedAt) ?? 'never') : undefined],
      ['coordinator', `started ${ago(why.startedAt)}`],
    ],
    look,
  )
  return `${printable(answerWhy(taskId, why))}\n\n${facts}`
}
