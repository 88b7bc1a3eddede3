import type { Attempt, QueueStats, Stats, Task, TaskSummary, Why, WorkerInfo } from '@tenure/client'
import type { Display } from '../src/terminal/display.js'

/** Fixed facts as a coordinator reports them. */

export const noon = Date.UTC(2026, 0, 2, 12)

export const onTerminal: Display = { columns: 100, colours: true }
export const narrow: Display = { columns: 60, colours: false }

function summary(own: Partial<TaskSummary>): TaskSummary {
  return {
    taskId: 17,
    queue: 'mail',
    state: 'WAITING',
    attempt: 0,
    currentLeaseId: null,
    executionWindowMs: 3_600_000,
    failures: 0,
    expiriesInARow: 0,
    retryPolicy: { maxRetries: 3, backoff: { kind: 'fixed', delayMs: 5000 } },
    createdAt: noon,
    stateSince: noon,
    ...own,
  }
}

export function attempt(own: Partial<Attempt>): Attempt {
  return {
    attempt: 1,
    leaseId: 18,
    workerId: 'build-4711',
    cancelled: false,
    grantedAt: noon + 5,
    leaseExpiry: noon + 30_005,
    outcome: 'OPEN',
    ...own,
  }
}

export function task(own: Partial<Task>): Task {
  return { ...summary(own), attempts: [], ...own }
}

/** A task in each state, with wide names. */
export const tasks: readonly TaskSummary[] = [
  summary({}),
  summary({
    taskId: 1_234_567,
    state: 'LEASED',
    attempt: 2,
    workerId: 'build-4711',
    queue: '請求書',
    stateSince: noon + 61_000,
  }),
  summary({ taskId: 1_234_568, state: 'COMPLETED', attempt: 1 }),
  summary({
    taskId: 1_234_569,
    state: 'FAILED',
    attempt: 4,
    failures: 4,
    queue: 'images',
    reason: 'TypeError: cannot read the picture of somebody who has none\n  at handler',
  }),
  summary({ taskId: 1_234_570, state: 'DEAD', reason: 'killed by hand \u001b[2J' }),
]

export const workers: readonly WorkerInfo[] = [
  {
    name: 'build-4711',
    connections: 1,
    capacity: 8,
    leases: 12,
    lastHeardAt: noon - 250,
    tasks: [17, 18, 19, 20, 21, 22, 23, 24, 25, 26],
    queues: ['mail', 'images'],
  },
  {
    name: 'gone-815',
    connections: 0,
    capacity: 0,
    leases: 1,
    lastHeardAt: noon - 45_000,
    tasks: [9],
    queues: [],
  },
]

const queueLines: readonly QueueStats[] = [
  {
    queue: 'mail',
    waiting: 12_345,
    firstEligibleAt: noon - 90_000,
    pollsWaiting: 0,
    lastAskedAt: noon - 300,
  },
  { queue: 'later', waiting: 1, firstEligibleAt: noon + 600_000, pollsWaiting: 3 },
]

export const stats: Stats = {
  lastLsn: 45_678,
  lastAt: noon - 1500,
  now: noon,
  startedAt: noon - 300_000,
  epoch: 5,
  restarts: 2,
  tasks: { waiting: 12_346, leased: 13, ended: 4000, bytes: 12_345_678 },
  counters: {
    tasksCreated: 20_000,
    leasesGranted: 8000,
    leasesExtended: 120,
    leasesExpired: 2,
    leasesExpiredAtStart: 1,
    tasksCompleted: 7641,
    retries: 40,
    tasksFailed: 12,
    tasksDead: 1,
    tasksForgotten: 3654,
    possibleDuplicates: 2,
    confirmedDuplicates: 1,
    refusedReports: 3,
  },
  queues: 2,
  workers: 2,
  connections: 5,
  waitingPolls: 3,
  diskFull: true,
  diskFreeBytes: 12_345_678,
  lines: queueLines,
  linesLeftOut: 0,
}

/** The stats five seconds later. */
export const statsLater: Stats = {
  ...stats,
  now: noon + 5000,
  counters: { ...stats.counters, tasksCreated: 26_000, leasesGranted: 8600, tasksCompleted: 8230 },
}

export function why(own: Partial<Why>): Why {
  return {
    now: noon,
    startedAt: noon - 300_000,
    state: 'WAITING',
    queue: 'mail',
    stateSince: noon - 60_000,
    pollsWaiting: 0,
    ...own,
  }
}
