import { printable } from '@tenure/app-kit'
import { type Display, paint, plain } from '../../terminal/display.js'
import {
  countOf,
  showCount,
  showDuration,
  showRate,
  showSecond,
  showSize,
} from '../../terminal/format.js'
import { type Column, showColumns } from '../../terminal/table.js'
import { cutTo } from '../../terminal/text.js'

import { lagOf, showQueues } from '../stats/show.js'
import { showWorkers } from '../workers.js'
import type { Rates, Sample } from './sample.js'

export interface Frame {
  readonly sample: Sample
  /** Rates since the previous sample; absent in the first frame. */
  readonly rates?: Rates | undefined
  readonly intervalMs: number
  /** Why there is no newer sample. */
  readonly trouble?: string | undefined
}

/** Rates, states, queues and workers, cut to the rows of the screen. */
export function showFrame(frame: Frame, display: Display, rows = Number.POSITIVE_INFINITY): string {
  const { stats, workers } = frame.sample
  const { lines: queues = [], linesLeftOut = 0 } = stats
  const parts = [
    showHead(frame, display),
    showColumns(rateColumns, [frame.rates], display),
    showColumns(stateColumns, [stats], display),
    ...(queues.length > 0 ? [showQueues(queues, stats.now, display, linesLeftOut)] : []),
    ...(workers?.workers.length ? [showWorkers(workers.workers, stats.now, display)] : []),
  ]
  const lines = parts.join('\n').trimEnd().split('\n')
  if (lines.length <= rows) return `${lines.join('\n')}\n`
  const shown = lines.slice(0, Math.max(1, rows - 1))
  return `${shown.join('\n')}\n… ${lines.length - shown.length} more lines\n`
}

function showHead({ sample, intervalMs, trouble }: Frame, display: Display): string {
  const { now, startedAt, restarts } = sample.stats
  const up = startedAt === undefined ? '' : `, up ${showDuration(now - startedAt)}`
  const before = restarts === undefined ? '' : `, restarted ${countOf(restarts, 'time')}`
  const head = `${showSecond(now)}${up}${before}, every ${showDuration(intervalMs)}; Ctrl-C to stop`
  const lines = [cutTo(display.columns, head)]
  if (trouble !== undefined) {
    const text = cutTo(display.columns, `no answer since then: ${printable(trouble)}`)
    lines.push(paint(display, 'bad', text))
  }
  return `${lines.join('\n')}\n`
}

const rateColumns = (
  ['submitted', 'leased', 'completed', 'retried', 'failed', 'stopped', 'expired'] as const
).map(
  (name): Column<Rates | undefined> => ({
    head: name,
    right: true,
    of: (rates) => (rates === undefined ? '-' : showRate(rates[name], 1000)),
  }),
)

const stateColumns: readonly Column<Sample['stats']>[] = [
  { head: '  waiting', right: true, of: ({ tasks }) => showCount(tasks.waiting) },
  { head: 'leased', right: true, of: ({ tasks }) => showCount(tasks.leased) },
  { head: '    ended', right: true, of: ({ tasks }) => showCount(tasks.ended) },
  { head: ' memory', right: true, of: ({ tasks }) => showSize(tasks.bytes) },
  { head: 'workers', right: true, of: ({ workers }) => showCount(workers) },
  {
    head: 'polls',
    right: true,
    of: ({ waitingPolls }) => (waitingPolls === undefined ? '' : showCount(waitingPolls)),
  },
]

interface Interval {
  readonly sample: Sample
  readonly rates: Rates
}

/** An interval as one line, optionally below the heads of its columns. */
export function showInterval(interval: Interval, heads: boolean): string {
  return showColumns(columns, [interval], plain, { heads })
}

const columns: readonly Column<Interval>[] = [
  { head: 'at', of: ({ sample }) => showSecond(sample.stats.now) },
  rate('submit/s', 'submitted'),
  rate('done/s', 'completed'),
  rate('fail/s', 'failed'),
  rate('expire/s', 'expired'),
  { head: 'waiting', right: true, of: ({ sample }) => showCount(sample.stats.tasks.waiting) },
  { head: 'leased', right: true, of: ({ sample }) => showCount(sample.stats.tasks.leased) },
  {
    head: '     lag',
    right: true,
    of: ({ sample }) => showDuration(longestLag(sample)?.lagMs ?? 0),
  },
  { head: 'in queue', cut: true, of: ({ sample }) => longestLag(sample)?.queue ?? '' },
]

function rate(head: string, name: keyof Rates): Column<Interval> {
  return {
    head,
    right: true,
    of: ({ rates: { [name]: rate } }) => (rate < 10 ? String(rate) : showCount(rate)),
  }
}

/** The queue whose first eligible task has been waiting longest. */
function longestLag({ stats }: Sample): { queue: string; lagMs: number } | undefined {
  const { lines = [], now } = stats
  const [longest] = lines
    .map((line) => ({ queue: line.queue, lagMs: lagOf(line, now) }))
    .filter(({ lagMs }) => lagMs > 0)
    .sort((a, b) => b.lagMs - a.lagMs)
  return longest
}
