import { formatDuration, wrap } from '@tenure/app-kit'
import type {
  Change,
  ChangeCause,
  Difference,
  Forecast,
  Outcomes,
  WhatIfKnobs,
} from '@tenure/history'
import type { Display } from '../../../terminal/display.js'
import { countOf, showCount, showDuration, showTime } from '../../../terminal/format.js'
import { type Column, showColumns } from '../../../terminal/table.js'

import { showShare } from './settings.js'

/** Recorded and forecast outcomes side by side, then causes, assumptions and examples. */
export function showForecast(
  forecast: Forecast,
  assumptions: readonly string[],
  display: Display,
): string {
  const { differences, examples } = forecast
  const parts = [
    describeWhat(forecast),
    showSides(forecast, display),
    ...(differences.length === 0 ? [] : [showColumns(causeColumns, differences, display)]),
    `Assumed:\n${assumptions.map(showItem).join('')}`,
    ...(examples.length === 0
      ? []
      : [`Examples:\n${showColumns(changeColumns, examples, display)}`]),
  ]
  return parts.join('\n')
}

function describeWhat(forecast: Forecast): string {
  const { knobs, records, tasks, tasksChanged, firstAt, lastAt } = forecast
  if (firstAt === undefined || lastAt === undefined) return 'The log has no records.\n'
  const what = `${countOf(records, 'record')} from ${showTime(firstAt)} to ${showTime(lastAt)}, replayed with ${showKnobs(knobs)}.`
  const changed = `${showCount(tasksChanged)} of ${countOf(tasks, 'task')} would have gone differently.`
  return `${wrap(`${what} ${changed}`, 0).join('\n')}\n`
}

function showItem(text: string): string {
  const [first = '', ...rest] = wrap(text, 2)
  return [`- ${first.slice(2)}`, ...rest, ''].join('\n')
}

/** The given options as flags. */
function showKnobs(knobs: WhatIfKnobs): string {
  const { leaseDurationMs, executionWindowMs, maxRetries, poisonThreshold, heartbeatShare } = knobs
  const flags = [
    [
      '--lease-duration',
      leaseDurationMs === undefined ? undefined : formatDuration(leaseDurationMs),
    ],
    [
      '--execution-window',
      executionWindowMs === undefined ? undefined : formatDuration(executionWindowMs),
    ],
    ['--max-retries', maxRetries],
    ...flagsOf(knobs.backoff),
    ['--poison-threshold', poisonThreshold],
    ['--heartbeat-share', heartbeatShare === undefined ? undefined : showShare(heartbeatShare)],
  ] as const
  return flags
    .flatMap(([flag, value]) => (value === undefined ? [] : [`${flag} ${value}`]))
    .join(' ')
}

function flagsOf(backoff: WhatIfKnobs['backoff']): (readonly [flag: string, value: string])[] {
  if (backoff === undefined) return []
  if (backoff.kind === 'fixed') {
    return [
      ['--backoff', 'fixed'],
      ['--backoff-delay', formatDuration(backoff.delayMs)],
    ]
  }
  return [
    ['--backoff', 'exponential'],
    ['--backoff-delay', formatDuration(backoff.initialMs)],
    ['--backoff-max', formatDuration(backoff.maxMs)],
  ]
}

interface Row {
  readonly name: string
  readonly of: (outcomes: Outcomes) => number | undefined
  readonly show: (amount: number) => string
}

function count(name: string, of: Row['of']): Row {
  return { name, of, show: showCount }
}

function span(name: string, of: Row['of']): Row {
  return { name, of, show: showDuration }
}

const rows: readonly Row[] = [
  count('leases granted', (o) => o.executions),
  count('  after an expired one', (o) => o.executionsAfterExpiry),
  count('leases expired', (o) => o.leasesExpired),
  span('  recovery: median', (o) => o.recovery.medianMs),
  span('  recovery: 99th percentile', (o) => o.recovery.p99Ms),
  span('  recovery: longest', (o) => o.recovery.maxMs),
  count('late reports CANCELLED', (o) => o.lateReports),
  count('failures reported', (o) => o.failures),
  count('  retried', (o) => o.retries),
  span('  total retry delay', (o) => o.backoffMs),
  count('tasks that ran more than once', (o) => o.tasksRunAgain),
  count('tasks completed', (o) => o.tasksCompleted),
  count('tasks failed for good', (o) => o.tasksFailed),
  count('tasks stopped as poison', (o) => o.tasksPoisoned),
  count('tasks stopped by an operator', (o) => o.tasksStopped),
  count('tasks with unknown end', (o) => o.tasksUnknown),
]

function showSides({ recorded, underKnobs }: Forecast, display: Display): string {
  const columns: readonly Column<Row>[] = [
    { head: '', of: ({ name }) => name },
    { head: 'recorded', right: true, of: (row) => show(row, recorded) },
    { head: 'with these options', right: true, of: (row) => show(row, underKnobs) },
    { head: 'difference', right: true, of: (row) => showDifference(row, recorded, underKnobs) },
  ]
  return showColumns(columns, rows, display)
}

function show({ of, show }: Row, outcomes: Outcomes): string {
  const amount = of(outcomes)
  return amount === undefined ? '' : show(amount)
}

/** Empty if both are equal, so that differences stand out. */
function showDifference({ of, show }: Row, recorded: Outcomes, underKnobs: Outcomes): string {
  const [before, after] = [of(recorded), of(underKnobs)]
  if (before === undefined || after === undefined || before === after) return ''
  return `${after > before ? '+' : '-'}${show(Math.abs(after - before))}`
}

/** The total effect of one cause. */
const causeColumns: readonly Column<Difference>[] = [
  { head: 'first difference', of: ({ cause }) => causes[cause] },
  { head: 'tasks', right: true, of: ({ tasks }) => showCount(tasks) },
  { head: 'granted', right: true, of: ({ executions }) => signed(executions) },
  { head: 'expired', right: true, of: ({ leasesExpired }) => signed(leasesExpired) },
]

const causes: Readonly<Record<ChangeCause, string>> = {
  LEASE_HELD: 'a lease that expired would have held until the late report',
  LEASE_LOST: 'a lease that held would have expired',
  WINDOW_HELD: 'a report after the execution window would have been in time',
  WINDOW_LOST: 'an attempt would have outlasted its execution window',
  RETRIES_LEFT: 'a task that failed for good would have been tried again',
  RETRIES_USED_UP: 'a task that was tried again would have failed for good',
  STOPPED_SOONER: 'a task would have been stopped as poison, or sooner',
  NOT_STOPPED: 'a task would not have been stopped as poison',
}

/** A task that would have gone differently, and its first difference. */
const changeColumns: readonly Column<Change>[] = [
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
  return heardAt === undefined ? 'some time' : showDuration(at - heardAt)
}

function toward(before: number, after: number): string {
  return before === after ? showCount(before) : `${showCount(before)} → ${showCount(after)}`
}

function signed(difference: number): string {
  if (difference === 0) return ''
  return `${difference > 0 ? '+' : '-'}${showCount(Math.abs(difference))}`
}
