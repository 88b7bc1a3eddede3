import type { Change, ChangeCause, Difference } from '@tenure/history'
import type { Column } from '../show/columns.js'
import { showCount } from '../terminal/numbers.js'
import { showSpan } from '../terminal/times.js'

/** What one cause changes in all. */
export const causeColumns: readonly Column<Difference>[] = [
  { head: 'what would have differed first', of: ({ cause }) => causes[cause] },
  { head: 'tasks', right: true, of: ({ tasks }) => showCount(tasks) },
  { head: 'granted', right: true, of: ({ executions }) => signed(executions) },
  { head: 'expired', right: true, of: ({ leasesExpired }) => signed(leasesExpired) },
]

const causes: Readonly<Record<ChangeCause, string>> = {
  LEASE_HELD: 'a lease that expired would have held until the late report',
  LEASE_LOST: 'a lease that held would have expired',
  WINDOW_HELD: 'a report behind the execution window would have been within',
  WINDOW_LOST: 'an attempt would have outlasted its execution window',
  RETRIES_LEFT: 'a task that failed for good would have been tried again',
  RETRIES_USED_UP: 'a task that was tried again would have failed for good',
  STOPPED_SOONER: 'a task would have been stopped as poison, or sooner',
  NOT_STOPPED: 'a task would not have been stopped as poison',
}

/** One task that would have gone differently, and from where on. */
export const changeColumns: readonly Column<Change>[] = [
  { head: 'task', right: true, of: ({ taskId }) => String(taskId) },
  { head: 'attempt', right: true, of: ({ attempt }) => String(attempt) },
  { head: 'lease', right: true, of: ({ leaseId }) => String(leaseId) },
  { head: 'worker', cut: true, of: ({ workerId }) => workerId },
  {
    head: 'runs',
    of: ({ recorded, underKnobs }) => toward(recorded.executions, underKnobs.executions),
  },
  { head: 'why', of: (change) => whys[change.cause](change) },
]

const whys: Readonly<Record<ChangeCause, (change: Change) => string>> = {
  LEASE_HELD: (change) => `reported ${silence(change)} after its last sign of life: in time`,
  LEASE_LOST: (change) => `not heard of for ${silence(change)}: its lease expires`,
  WINDOW_HELD: (change) => `reported ${silence(change)} after its last sign of life: in time`,
  WINDOW_LOST: () => 'still runs at the end of its window: its lease expires',
  RETRIES_LEFT: () => 'a retry is left: it runs once more',
  RETRIES_USED_UP: () => 'no retry is left: it fails for good',
  STOPPED_SOONER: () => 'its leases expired too often in a row: it is stopped',
  NOT_STOPPED: () => 'its leases did not expire often enough in a row: it runs on',
}

function silence({ heardAt, at }: Change): string {
  return heardAt === undefined ? 'some time' : showSpan(at - heardAt)
}

function toward(before: number, after: number): string {
  return before === after ? showCount(before) : `${showCount(before)} → ${showCount(after)}`
}

function signed(difference: number): string {
  if (difference === 0) return ''
  return `${difference > 0 ? '+' : '-'}${showCount(Math.abs(difference))}`
}
