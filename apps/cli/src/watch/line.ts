import { type Column, showColumns } from '../show/columns.js'
import { lagOf } from '../show/stats.js'
import { plain } from '../terminal/look.js'
import { showCount } from '../terminal/numbers.js'
import { showSecond, showSpan } from '../terminal/times.js'
import type { Rates, Sample } from '../verbs/watch/sample.js'

export interface Interval {
  readonly sample: Sample
  readonly rates: Rates
}

/** What happened in an interval, in a line for a file; with the heads of its columns where they are wanted. */
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
  { head: '     lag', right: true, of: ({ sample }) => showSpan(longestLag(sample)?.lagMs ?? 0) },
  { head: 'in queue', cut: true, of: ({ sample }) => longestLag(sample)?.queue ?? '' },
]

function rate(head: string, name: keyof Rates): Column<Interval> {
  return {
    head,
    right: true,
    of: ({ rates: { [name]: rate } }) => (rate < 10 ? String(rate) : showCount(rate)),
  }
}

/** The queue whose first task has been waiting for the longest time. */
function longestLag({ stats }: Sample): { queue: string; lagMs: number } | undefined {
  const { lines = [], now } = stats
  const [longest] = lines
    .map((line) => ({ queue: line.queue, lagMs: lagOf(line, now) }))
    .filter(({ lagMs }) => lagMs > 0)
    .sort((a, b) => b.lagMs - a.lagMs)
  return longest
}
