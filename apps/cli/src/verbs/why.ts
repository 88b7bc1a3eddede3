import { defineVerb, printable } from '@tenure/app-kit'
import type { Why } from '@tenure/client'
import { exitCodes } from '../command-line.js'
import { clientSettings, withClient } from '../coordinator/connection.js'
import { aboutTask } from '../coordinator/refusals.js'
import { stateCell } from '../tasks/states.js'
import { taskIdSettings } from '../tasks/task-id.js'
import { countOf, showAge, showCount, showSpan, showTime } from '../terminal/figures.js'
import { outputSettings, toJsonLine } from '../terminal/json.js'
import { type Look, lookOf } from '../terminal/look.js'
import { showFacts } from '../terminal/table.js'

export const why = defineVerb({
  summary: 'Tells why a task is not running now, in a sentence and with the facts behind it.',
  examples: [
    {
      line: 'tenure why 17',
      help: 'What task 17 waits for; or who runs it, or that it has ended.',
    },
  ],
  settings: { ...taskIdSettings, ...outputSettings, ...clientSettings },
  prepare(configuration) {
    const { taskId, json } = configuration.values
    return withClient(configuration, async (tenure, { stdout, env }) => {
      const why = await aboutTask(taskId, tenure.why(taskId))
      const answer = answerWhy(taskId, why)
      const look = lookOf(stdout, env)
      stdout.write(json ? toJsonLine({ taskId, answer, ...why }) : showWhy(taskId, why, look))
      return exitCodes.done
    })
  },
})

/** A queue that was asked for so long ago looks as if nobody served it. */
const forsakenMs = 30_000

/** The sentence that answers the question. */
export function answerWhy(taskId: number, why: Why): string {
  const { state, now, eligibleAt = 0 } = why
  const task = `Task ${taskId}`
  if (state === 'LEASED') return `${task} ${tellLease(why)}.`
  if (state !== 'WAITING') return `${task} ${tellEnded(taskId, why)}.`
  if (eligibleAt > now) {
    return `${task} waits for its time: it may be leased in ${showSpan(eligibleAt - now)}.`
  }
  return `${task} waits for a worker: ${tellQueue(why)}.`
}

function tellEnded(taskId: number, { state, stateSince, now }: Why): string {
  const ended = `will not run again: it has been ${state} for ${showSpan(now - stateSince)}`
  return state === 'COMPLETED'
    ? ended
    : `${ended}; tenure explain ${taskId} tells why, tenure resubmit ${taskId} makes a new one of it`
}

function tellLease({ lease, now, workerLastHeardAt }: Why): string {
  if (lease === undefined) return 'is leased'
  const { workerId, leaseExpiry, attempt } = lease
  const holder = `attempt ${attempt} by worker ${workerId}`
  const heard =
    workerLastHeardAt === undefined
      ? 'which has not been heard of since the coordinator started'
      : `which was last heard of ${showAge(workerLastHeardAt, now)}`
  if (leaseExpiry > now) {
    return `is leased: ${holder}, ${heard}; the lease is good for another ${showSpan(leaseExpiry - now)}`
  }
  return `is about to be taken back: ${holder}, ${heard}; the lease expired ${showAge(leaseExpiry, now)}`
}

function tellQueue(why: Why): string {
  const { queue, pollsWaiting, pollsAreFull = false, queueLastAskedAt, now, startedAt } = why
  const place = tellPlace(why)
  if (pollsAreFull) return `${place}, and every worker that asks for one is at capacity`
  if (pollsWaiting > 0) {
    const polls = countOf(pollsWaiting, 'request')
    return `${place}, and ${polls} for one ${pollsWaiting === 1 ? 'waits' : 'wait'}`
  }
  if (queueLastAskedAt === undefined) {
    const since = startedAt === undefined ? '' : ` ${showAge(startedAt, now)}`
    return `nobody has asked for tasks of queue ${queue} since the coordinator started${since}`
  }
  const asked = showAge(queueLastAskedAt, now)
  return now - queueLastAskedAt >= forsakenMs
    ? `nobody has asked for tasks of queue ${queue} for ${showSpan(now - queueLastAskedAt)}`
    : `${place}; the last request for one came ${asked}, and none waits now`
}

function tellPolls({ pollsWaiting, pollsAreFull = false }: Why): string {
  return `${showCount(pollsWaiting)}${pollsAreFull ? ', of workers at capacity' : ''}`
}

function tellPlace({ queue, ahead = 0, aheadIsMore = false }: Why): string {
  if (ahead === 0) return `it is the next one of queue ${queue}`
  const more = aheadIsMore ? 'more than ' : ''
  const before = `${more}${countOf(ahead, 'task')} of queue ${queue}`
  return `${before} ${ahead === 1 && !aheadIsMore ? 'is' : 'are'} before it`
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
      ['polls', state === 'WAITING' ? tellPolls(why) : undefined],
      ['asked for', state === 'WAITING' ? (ago(why.queueLastAskedAt) ?? 'never') : undefined],
      ['coordinator', `started ${ago(why.startedAt)}`],
    ],
    look,
  )
  return `${printable(answerWhy(taskId, why))}\n\n${facts}`
}
