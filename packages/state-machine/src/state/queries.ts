import type { DueList } from '../store/due-list.js'
import { comesBefore, states } from '../store/task-rows.js'
import { findTask, type State } from './state.js'

/**
 * The next task to offer to a worker of these queues: the first by `(eligible_at, task_id)` that is
 * eligible at `now`.
 */
export function nextEligible(
  state: State,
  queues: readonly string[],
  now: number,
): number | undefined {
  const { tasks } = state.authoritative
  let first = 0
  for (const queue of queues) {
    const row = waitingList(state, queue)?.first ?? 0
    if (row !== 0 && (first === 0 || comesBefore(tasks, row, first))) first = row
  }
  return first !== 0 && tasks.due.get(first) <= now ? tasks.taskId.get(first) : undefined
}

/** How many tasks precede one in its queue, as far as they were counted. */
export interface TasksAhead {
  readonly count: number
  /** There are more than were counted. */
  readonly isMore: boolean
}

/**
 * How many tasks of its queue will be leased before this WAITING one, in the present state, counted
 * up to `limit`. `undefined` if the task is not WAITING.
 */
export function countAhead(state: State, taskId: number, limit: number): TasksAhead | undefined {
  const { tasks } = state.authoritative
  const row = findTask(state, taskId)
  if (row === 0 || tasks.state.get(row) !== states.WAITING) return undefined
  const line = state.derived.waiting[tasks.queue.get(row)]
  const count = line?.countBefore(row, limit + 1) ?? 0
  return { count: Math.min(count, limit), isMore: count > limit }
}

/** When the first waiting task of the queue is eligible. This may be in the past. */
export function nextEligibleAt(state: State, queue: string): number | undefined {
  return firstDue(state, waitingList(state, queue))
}

/** The lease that expires first, and when it expires. */
export function nextExpiry(
  state: State,
): { readonly leaseId: number; readonly at: number } | undefined {
  const { tasks } = state.authoritative
  const { first } = state.derived.leased
  if (first === 0) return undefined
  return { leaseId: tasks.currentLeaseId.get(first), at: tasks.due.get(first) }
}

/**
 * The LSN for a TasksForgotten that removes tasks that ended at `endedUntil` or before, and those
 * above the `keep` newest. Removes at most `limit` tasks. `undefined` if there is nothing to
 * remove.
 */
export function forgettableThrough(
  state: State,
  { endedUntil, keep, limit }: { endedUntil: number; keep: number; limit: number },
): number | undefined {
  const { tasks } = state.authoritative
  const { ended } = state.derived
  const surplus = ended.size - keep
  let through: number | undefined
  // Each ended task is added at the end, so this list is a chain, and its first tasks need no sort.
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
  return idsOf(state, waitingList(state, queue))
}

/** Ids of the LEASED tasks, in the order in which their leases expire. */
export function leasedTasks(state: State): number[] {
  return idsOf(state, state.derived.leased)
}

/** Ids of the terminal tasks, in the order in which they ended. */
export function endedTasks(state: State): number[] {
  return idsOf(state, state.derived.ended)
}

/** Ids of the WAITING tasks with at least this many consecutive lease expiries. Scans every task. */
export function expiredInARow({ authoritative }: State, times: number): number[] {
  const { tasks } = authoritative
  const ids: number[] = []
  for (const row of tasks.rows()) {
    if (tasks.expiriesInARow.get(row) < times || tasks.state.get(row) !== states.WAITING) continue
    ids.push(tasks.taskId.get(row))
  }
  return ids.sort((a, b) => a - b)
}

/** The queues that at least one task names, sorted by name. */
export function queueNames({ authoritative }: State): string[] {
  return [...authoritative.queues].map(([name]) => name).sort()
}

/** How many queues at least one task names. */
export function countQueues({ authoritative }: State): number {
  return authoritative.queues.size
}

/** A queue and its waiting tasks. */
export interface QueueSize {
  readonly queue: string
  /** WAITING tasks, eligible or not, that have no decision in flight. */
  readonly waiting: number
  /** When the first of them is eligible. This may be in the past. */
  readonly firstEligibleAt?: number
}

/**
 * The `limit` queues with the most waiting tasks, longest first. Looks at no more than `lookAtMax`
 * queues, so with more queues it may miss some.
 */
export function longestQueues(
  state: State,
  { limit, lookAtMax }: { limit: number; lookAtMax: number },
): QueueSize[] {
  const longest: { queue: string; line: DueList | undefined; waiting: number }[] = []
  let lookedAt = 0
  for (const [queue, number] of state.authoritative.queues) {
    if (lookedAt++ === lookAtMax) break
    const line = state.derived.waiting[number]
    const waiting = line?.size ?? 0
    if (longest.length === limit && waiting <= longest[limit - 1]!.waiting) continue
    // Searched from the end, because most queues are shorter than those already listed.
    const place = 1 + longest.findLastIndex((other) => other.waiting >= waiting)
    longest.splice(place, 0, { queue, line, waiting })
    if (longest.length > limit) longest.pop()
  }
  return longest.map(({ queue, line, waiting }) => {
    const firstEligibleAt = firstDue(state, line)
    return firstEligibleAt === undefined ? { queue, waiting } : { queue, waiting, firstEligibleAt }
  })
}

/** The number of tasks, and the total bytes of their payloads, results, reasons and ids. */
export interface TaskCounts {
  readonly waiting: number
  readonly leased: number
  readonly ended: number
  readonly bytes: number
}

export function countTasks({ authoritative, derived }: State): TaskCounts {
  const { tasks, blobs } = authoritative
  // The index of LSNs contains every task once, and each LEASED one again by its lease.
  const leased = derived.byLsn.size - tasks.size
  const ended = derived.ended.size
  return { waiting: tasks.size - leased - ended, leased, ended, bytes: blobs.bytes }
}

function waitingList({ authoritative, derived }: State, queue: string): DueList | undefined {
  const number = authoritative.queues.find(queue)
  return number === undefined ? undefined : derived.waiting[number]
}

function firstDue({ authoritative }: State, line: DueList | undefined): number | undefined {
  const row = line?.first ?? 0
  return row === 0 ? undefined : authoritative.tasks.due.get(row)
}

/** A copy, because the caller may apply records while it iterates. */
function idsOf({ authoritative }: State, line: DueList | undefined): number[] {
  return Array.from(line?.rows() ?? [], (row) => authoritative.tasks.taskId.get(row))
}
