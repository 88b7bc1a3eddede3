import { defineVerb, printable } from '@tenure/app-kit'
import type { Why } from '@tenure/client'
import { exitCodes } from '../command-line.js'
import { clientSettings, withClient } from '../coordinator/connection.js'
import { withTaskId } from '../coordinator/errors.js'
import { stateCell } from '../tasks/states.js'
import { taskIdSettings } from '../tasks/task-id.js'
import { type Display, displayOf } from '../terminal/display.js'
import { countOf, showAge, showCount, showDuration, showTime } from '../terminal/format.js'
import { outputSettings, toJsonLine } from '../terminal/json.js'
import { showFacts } from '../terminal/table.js'

export const why = defineVerb({
  summary: 'Show why a task is not running now, in one sentence followed by the facts.',
  examples: [
    {
      line: 'tenure why 17',
      help: 'Show what task 17 is waiting for, which worker runs it, or that it has ended.',
    },
  ],
  settings: { ...taskIdSettings, ...outputSettings, ...clientSettings },
  prepare(configuration) {
    const { taskId, json } = configuration.values
    return withClient(configuration, async (tenure, { stdout, env }) => {
      const why = await withTaskId(taskId, tenure.why(taskId))
      const answer = answerWhy(taskId, why)
      const display = displayOf(stdout, env)
      stdout.write(json ? toJsonLine({ taskId, answer, ...why }) : showWhy(taskId, why, display))
      return exitCodes.done
    })
  },
})

/** A queue that was not polled for this long probably has no workers. */
const unservedMs = 30_000

/** Answers in one sentence. */
export function answerWhy(taskId: number, why: Why): string {
  const { state, now, eligibleAt = 0 } = why
  const task = `Task ${taskId}`
  if (state === 'LEASED') return `${task} ${describeLease(why)}.`
  if (state !== 'WAITING') return `${task} ${describeEnded(taskId, why)}.`
  if (eligibleAt > now) {
    return `${task} is delayed: it becomes eligible in ${showDuration(eligibleAt - now)}.`
  }
  return `${task} is waiting for a worker: ${describeQueue(why)}.`
}

function describeEnded(taskId: number, { state, stateSince, now }: Why): string {
  const ended = `will not run again: it has been ${state} for ${showDuration(now - stateSince)}`
  return state === 'COMPLETED'
    ? ended
    : `${ended}; tenure explain ${taskId} shows why, tenure resubmit ${taskId} submits it again`
}

function describeLease({ lease, now, workerLastHeardAt }: Why): string {
  if (lease === undefined) return 'is leased'
  const { workerId, leaseExpiry, attempt } = lease
  const holder = `worker ${workerId} (attempt ${attempt})`
  const heard =
    workerLastHeardAt === undefined
      ? 'not heard from since the coordinator started'
      : `last heard from ${showAge(workerLastHeardAt, now)}`
  if (leaseExpiry > now) {
    return `is leased to ${holder}, ${heard}; the lease expires in ${showDuration(leaseExpiry - now)} unless extended`
  }
  return `will be taken back from ${holder}, ${heard}; the lease expired ${showAge(leaseExpiry, now)}`
}

function describeQueue(why: Why): string {
  const { queue, pollsWaiting, pollsAreFull = false, queueLastAskedAt, now, startedAt } = why
  const place = describePlace(why)
  if (pollsAreFull) return `${place}, and every polling worker is at capacity`
  if (pollsWaiting > 0) {
    const polls = countOf(pollsWaiting, 'poll')
    return `${place}, and ${polls} ${pollsWaiting === 1 ? 'is' : 'are'} waiting for a task`
  }
  if (queueLastAskedAt === undefined) {
    const since = startedAt === undefined ? '' : ` ${showAge(startedAt, now)}`
    return `no worker has polled queue ${queue} since the coordinator started${since}`
  }
  const asked = showAge(queueLastAskedAt, now)
  return now - queueLastAskedAt >= unservedMs
    ? `no worker has polled queue ${queue} for ${showDuration(now - queueLastAskedAt)}`
    : `${place}; the last poll was ${asked}, and none is waiting now`
}

function describePolls({ pollsWaiting, pollsAreFull = false }: Why): string {
  return `${showCount(pollsWaiting)}${pollsAreFull ? ', by workers at capacity' : ''}`
}

function describePlace({ queue, ahead = 0, aheadIsMore = false }: Why): string {
  if (ahead === 0) return `it is next in queue ${queue}`
  const more = aheadIsMore ? 'more than ' : ''
  const before = `${more}${countOf(ahead, 'task')} of queue ${queue}`
  return `${before} ${ahead === 1 && !aheadIsMore ? 'is' : 'are'} ahead of it`
}

/** A warning that the task's queue probably has no workers; `undefined` if it may have some. */
export function describeUnserved(taskId: number, why: Why): string | undefined {
  const { state, queue, now, eligibleAt = 0, pollsWaiting, queueLastAskedAt, startedAt } = why
  if (state !== 'WAITING' || eligibleAt > now || pollsWaiting > 0) return undefined
  // Workers reconnect within seconds after a restart.
  if (now - (queueLastAskedAt ?? startedAt ?? 0) < unservedMs) return undefined
  const hint = `Is a worker running with --queues ${queue}? See tenure why ${taskId}`
  return printable(`${answerWhy(taskId, why)} ${hint}`)
}

/** The sentence, followed by the facts behind it. */
export function showWhy(taskId: number, why: Why, display: Display): string {
  const { state, stateSince, queue, lease, now, ahead, aheadIsMore } = why
  const ago = (atMs: number | undefined) =>
    atMs === undefined ? undefined : `${showTime(atMs)}, ${showAge(atMs, now)}`
  const facts = showFacts(
    [
      ['state', stateCell(state, ` since ${ago(stateSince)}`)],
      ['queue', queue],
      ['eligible', why.eligibleAt === undefined ? undefined : showTime(why.eligibleAt)],
      [
        'ahead of it',
        ahead === undefined ? undefined : `${aheadIsMore ? 'more than ' : ''}${showCount(ahead)}`,
      ],
      ['worker', lease?.workerId],
      ['lease', lease && `${lease.leaseId}, attempt ${lease.attempt}`],
      ['granted', ago(lease?.grantedAt)],
      ['expires', lease && showTime(lease.leaseExpiry)],
      ['window ends', lease && showTime(lease.windowEnd)],
      ['last heard', ago(why.workerLastHeardAt)],
      ['polls', state === 'WAITING' ? describePolls(why) : undefined],
      ['last poll', state === 'WAITING' ? (ago(why.queueLastAskedAt) ?? 'never') : undefined],
      ['coordinator', `started ${ago(why.startedAt)}`],
    ],
    display,
  )
  return `${printable(answerWhy(taskId, why))}\n\n${facts}`
}
