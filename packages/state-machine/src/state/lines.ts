import type { Line } from '../store/line.js'
import { comesBefore, states } from '../store/task-rows.js'
import { findTask, type State } from './state.js'

/**
 * The task that a worker of these queues is to be offered next: the first by
 * `(eligible_at, task_id)` of those that are eligible at `now`.
 */
export function nextEligible(
  state: State,
  queues: readonly string[],
  now: number,
): number | undefined {
  const { tasks } = state.authoritative
  let first = 0
  for (const queue of queues) {
    const row = waitingLine(state, queue)?.first ?? 0
    if (row !== 0 && (first === 0 || comesBefore(tasks, row, first))) first = row
  }
  return first !== 0 && tasks.due.get(first) <= now ? tasks.taskId.get(first) : undefined
}

/** How many tasks stand before one, as far as they were counted. */
export interface Ahead {
  readonly count: number
  /** There are more than were counted. */
  readonly isMore: boolean
}

/**
 * How many tasks of its queue are leased before this WAITING one, as things stand, counted up to
 * `limit`. `undefined` when it is not WAITING.
 */
export function countAhead(state: State, taskId: number, limit: number): Ahead | undefined {
  const { tasks } = state.authoritative
  const row = findTask(state, taskId)
  if (row === 0 || tasks.state.get(row) !== states.WAITING) return undefined
  const line = state.derived.waiting[tasks.queue.get(row)]
  const count = line?.countBefore(row, limit + 1) ?? 0
  return { count: Math.min(count, limit), isMore: count > limit }
}

/** When the first waiting task of the queue is eligible, which may be in the past. */
export function nextEligibleAt(state: State, queue: string): number | undefined {
  return firstDue(state, waitingLine(state, queue))
}

/** The lease that expires first, and when. */
export function nextExpiry(
  state: State,
): { readonly leaseId: number; readonly at: number } | undefined {
  const { tasks } = state.authoritative
  const { first } = state.derived.leased
  if (first === 0) return undefined
  return { leaseId: tasks.currentLeaseId.get(first), at: tasks.due.get(first) }
}

/**
 * The LSN for a TasksForgotten that drops what is past its time: tasks that ended at `endedUntil` or
 * before, and those over the `keep` that ended last; at most `limit` tasks at once. `undefined` when
 * there is nothing to drop.
 */
export function forgettableThrough(
  state: State,
  { endedUntil, keep, limit }: { endedUntil: number; keep: number; limit: number },
): number | undefined {
  const { tasks } = state.authoritative
  const { ended } = state.derived
  const surplus = ended.size - keep
  let through: number | undefined
  // A task ends behind all others, so this line is a chain: its first ones are at hand, unsorted.
  let count = 0
  for (const row of ended.rows()) {
    if (count === limit || (count >= surplus && tasks.stateSince.get(row) > endedUntil)) break
    through = tasks.due.get(row)
    count++
  }
  return through
}

/** Ids of the queue's WAITING tasks, eligible or not, in the order in which they will be leased. */
export function waitingTasks(state: State, queue: string): number[] {
  return idsOf(state, waitingLine(state, queue))
}

/** Ids of the LEASED tasks, the one whose lease expires first first. */
export function leasedTasks(state: State): number[] {
  return idsOf(state, state.derived.leased)
}

/** Ids of the terminal tasks, the one that ended first first. */
export function endedTasks(state: State): number[] {
  return idsOf(state, state.derived.ended)
}

/** Ids of the WAITING tasks whose leases expired so often in a row, or more often. Looks at every task. */
export function expiredInARow({ authoritative }: State, times: number): number[] {
  const { tasks } = authoritative
  const ids: number[] = []
  for (const row of tasks.rows()) {
    if (tasks.expiriesInARow.get(row) < times || tasks.state.get(row) !== states.WAITING) continue
    ids.push(tasks.taskId.get(row))
  }
  return ids.sort((a, b) => a - b)
}

/** The queues that a task names, in the order of their names. */
export function queueNames({ authoritative }: State): string[] {
  return [...authoritative.queues].map(([name]) => name).sort()
}

/** How many queues a task names. */
export function countQueues({ authoritative }: State): number {
  return authoritative.queues.size
}

/** A queue and those who wait in it. */
export interface QueueSize {
  readonly queue: string
  /** WAITING tasks, eligible or not, about which nothing is on its way. */
  readonly waiting: number
  /** When the first of them is eligible, which may be in the past. */
  readonly firstEligibleAt?: number
}

/**
 * The `limit` queues with the most waiting tasks, those with the most first. It looks at `lookAtMax`
 * queues: where there are more it is the longest of these.
 */
export function longestQueues(
  state: State,
  { limit, lookAtMax }: { limit: number; lookAtMax: number },
): QueueSize[] {
  const longest: { queue: string; line: Line | undefined; waiting: number }[] = []
  let lookedAt = 0
  for (const [queue, number] of state.authoritative.queues) {
    if (lookedAt++ === lookAtMax) break
    const line = state.derived.waiting[number]
    const waiting = line?.size ?? 0
    if (longest.length === limit && waiting <= longest[limit - 1]!.waiting) continue
    // Found from the end: most queues are shorter than most of these.
    const place = 1 + longest.findLastIndex((other) => other.waiting >= waiting)
    longest.splice(place, 0, { queue, line, waiting })
    if (longest.length > limit) longest.pop()
  }
  return longest.map(({ queue, line, waiting }) => {
    const firstEligibleAt = firstDue(state, line)
    return firstEligibleAt === undefined ? { queue, waiting } : { queue, waiting, firstEligibleAt }
  })
}

/** How many tasks there are, and the bytes of their payloads, results, reasons and ids together. */
export interface TaskCounts {
  readonly waiting: number
  readonly leased: number
  readonly ended: number
  readonly bytes: number
}

export function countTasks({ authoritative, derived }: State): TaskCounts {
  const { tasks, blobs } = authoritative
  // Every task is in the index of LSNs once, and a LEASED one a second time by its lease.
  const leased = derived.byLsn.size - tasks.size
  const ended = derived.ended.size
  return { waiting: tasks.size - leased - ended, leased, ended, bytes: blobs.bytes }
}

function waitingLine({ authoritative, derived }: State, queue: string): Line | undefined {
  const number = authoritative.queues.find(queue)
  return number === undefined ? undefined : derived.waiting[number]
}

function firstDue({ authoritative }: State, line: Line | undefined): number | undefined {
  const row = line?.first ?? 0
  return row === 0 ? undefined : authoritative.tasks.due.get(row)
}

/** A list of its own: whoever goes through it may apply records meanwhile. */
function idsOf({ authoritative }: State, line: Line | undefined): number[] {
  return Array.from(line?.rows() ?? [], (row) => authoritative.tasks.taskId.get(row))
}
