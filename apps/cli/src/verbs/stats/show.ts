import type { Counters } from '@tenure/client'
import type { TaskLine, TaskStats } from '../../tasks/task-source.js'
import type { Display } from '../../terminal/display.js'
import {
  countOf,
  showAge,
  showCount,
  showDuration,
  showSize,
  showTime,
} from '../../terminal/format.js'
import { type Column, showColumns, showFacts } from '../../terminal/table.js'

/** The current state, the queues, then the event counts. */
export function showStats(stats: TaskStats, display: Display): string {
  const { lines = [], linesLeftOut = 0 } = stats
  const parts = [
    showFacts(factsOf(stats), display),
    ...(lines.length === 0 ? [] : [showQueues(lines, stats.now, display, linesLeftOut)]),
    showFacts(countersOf(stats.counters), display),
  ]
  return parts.join('\n')
}

function factsOf({ tasks, ...stats }: TaskStats) {
  const { now, startedAt, restarts, lastLsn, lastAt, connections, waitingPolls, workers } = stats
  return [
    ['waiting', countOf(tasks.waiting, 'task')],
    ['leased', countOf(tasks.leased, 'task')],
    ['ended', `${countOf(tasks.ended, 'task')} still remembered`],
    ['memory', `${showSize(tasks.bytes)} of payloads, results and names`],
    ['queues', showCount(stats.queues)],
    ['workers', workers === undefined ? undefined : describeWorkers(workers, waitingPolls)],
    ['connections', connections === undefined ? undefined : showCount(connections)],
    ['log', describeLog(lastLsn, lastAt, now)],
    ['disk', describeDisk(stats)],
    ['started', startedAt === undefined ? undefined : describeStart(startedAt, now, restarts)],
  ] as const
}

function describeLog(lastLsn: number, lastAt: number, now: number): string {
  if (lastLsn === 0) return 'no record yet'
  return `LSN ${showCount(lastLsn)}; last record ${showAge(lastAt, now)}`
}

function describeDisk(stats: Pick<TaskStats, 'diskFull' | 'diskFreeBytes'>) {
  const { diskFull, diskFreeBytes } = stats
  const room = diskFreeBytes === undefined ? '' : `${showSize(diskFreeBytes)} free`
  if (diskFull !== true) return room === '' ? undefined : room
  const full = 'full: submissions are rejected until space is freed'
  return { text: room === '' ? full : `${full}; ${room}`, style: 'bad' } as const
}

function describeWorkers(workers: number, waitingPolls: number | undefined): string {
  const polls = waitingPolls === undefined ? '' : `; ${countOf(waitingPolls, 'poll')} waiting`
  return showCount(workers) + polls
}

function describeStart(startedAt: number, now: number, restarts: number | undefined): string {
  const before =
    restarts === undefined ? '' : `; restarted ${countOf(restarts, 'time')} on this log`
  return `${showTime(startedAt)}, ${showAge(startedAt, now)}${before}`
}

export function showQueues(
  lines: readonly TaskLine[],
  now: number,
  display: Display,
  leftOut = 0,
): string {
  const more = leftOut > 0 ? `… ${countOf(leftOut, 'more queue')} with fewer waiting tasks\n` : ''
  const isAsked = lines.some(({ pollsWaiting }) => pollsWaiting !== undefined)
  const columns = isAsked ? [...waitingAt(now), ...askedAt(now)] : waitingAt(now)
  return showColumns(columns, lines, display) + more
}

function waitingAt(now: number): readonly Column<TaskLine>[] {
  return [
    { head: 'queue', cut: true, of: ({ queue }) => queue },
    { head: 'waiting', right: true, of: ({ waiting }) => showCount(waiting) },
    { head: 'lag', right: true, of: (line) => showLag(line, now) },
  ]
}

/** Only a coordinator knows about polls; a log does not. */
function askedAt(now: number): readonly Column<TaskLine>[] {
  return [
    { head: 'polls', right: true, of: ({ pollsWaiting = 0 }) => showCount(pollsWaiting) },
    {
      head: 'last poll',
      right: true,
      of: ({ lastAskedAt }) =>
        lastAskedAt === undefined ? { text: 'never', style: 'bad' } : showAge(lastAskedAt, now),
    },
  ]
}

/** How long the first eligible task of a queue has been waiting. */
export function lagOf({ firstEligibleAt }: TaskLine, now: number): number {
  return firstEligibleAt === undefined ? 0 : Math.max(0, now - firstEligibleAt)
}

function showLag(line: TaskLine, now: number): string {
  const { firstEligibleAt } = line
  if (firstEligibleAt === undefined) return ''
  return firstEligibleAt > now
    ? `in ${showDuration(firstEligibleAt - now)}`
    : showDuration(lagOf(line, now))
}

/** An older coordinator may not send every counter. */
function countersOf(counters: Partial<Counters>) {
  return (Object.keys(names) as (keyof Counters)[]).map((name) => {
    const count = counters[name]
    return [names[name], count === undefined ? undefined : showCount(count)] as const
  })
}

const names: Readonly<Record<keyof Counters, string>> = {
  tasksCreated: 'submitted',
  leasesGranted: 'leases granted',
  leasesExtended: 'leases extended',
  leasesExpired: 'leases expired',
  leasesExpiredAtStart: '  found at startup',
  tasksCompleted: 'completed',
  retries: 'failures retried',
  tasksFailed: 'failed for good',
  tasksDead: 'stopped for good',
  tasksForgotten: 'forgotten',
  possibleDuplicates: 'possible duplicates',
  confirmedDuplicates: 'confirmed duplicates',
  refusedReports: 'reports rejected',
}
