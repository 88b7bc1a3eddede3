import { describeUnreadable, readableRanges, showRange } from '../../../log/damage.js'
import { describeTotals, type TaskTotals } from '../../../log/task-totals.js'
import type { Display } from '../../../terminal/display.js'
import {
  countOf,
  showAge,
  showCount,
  showDuration,
  showSize,
  showTime,
} from '../../../terminal/format.js'
import { type Column, type Facts, showColumns, showFacts } from '../../../terminal/table.js'

import type { LogStatistics, NamedFile, SegmentStatistics, TypeCount } from './statistics.js'

export function showLogStatistics(
  stats: LogStatistics & { readonly tasks?: TaskTotals },
  now: number,
  display: Display,
): string {
  const { openings, segments, types, checkpoints, quarantine } = stats
  const tables = [
    showFacts(factsOf(stats, now), display),
    list(typeColumns, types, display),
    list(openingColumns, openings, display),
    list(segmentColumns, segments, display),
    list(fileColumns('checkpoint'), checkpoints, display),
    list(fileColumns('quarantine'), quarantine, display),
  ]
  return tables.filter((table) => table !== '').join('\n')
}

function list<T>(columns: readonly Column<T>[], items: readonly T[], display: Display): string {
  return items.length === 0 ? '' : showColumns(columns, items, display)
}

type Shown = Parameters<typeof showLogStatistics>[0]

function factsOf(stats: Shown, now: number): Facts {
  const { firstLsn, lastLsn, firstAt, lastAt, records, gaps, tasks, unreadable } = stats
  const ranges = readableRanges({ firstLsn, lastLsn, historyDamage: unreadable })
  const range =
    records === 0 ? 'none' : `${showCount(records)}, ${ranges.map(showRange).join(' and ')}`
  const removed = firstLsn === 1 ? '' : `; records before LSN ${firstLsn} were removed`
  const { recordsPerSecond: rate, bytesPerRecord } = stats
  return [
    ['log', stats.logId],
    ['records', range + removed],
    ['first', firstAt === undefined ? undefined : showTime(firstAt)],
    ['last', lastAt === undefined ? undefined : `${showTime(lastAt)}, ${showAge(lastAt, now)}`],
    ['time', firstAt === undefined ? undefined : showDuration((lastAt ?? firstAt) - firstAt)],
    [
      'rate',
      rate === undefined ? undefined : `${rate < 10 ? rate.toFixed(2) : showCount(rate)} records/s`,
    ],
    [
      'size',
      bytesPerRecord === undefined
        ? undefined
        : `${bytesPerRecord.toFixed(1)} bytes per record; ${showSize(stats.recordBytes)} of records in ${showSize(stats.fileBytes)} of files`,
    ],
    ['tasks', tasks && describeTotals(tasks)],
    ...gaps.map((gap) => ['gap', `${showRange(gap)}: ${gap.reason}`] as const),
    ...unreadable.map(
      (one) => ['history', { text: describeUnreadable(one), style: 'bad' }] as const,
    ),
  ]
}

const typeColumns: readonly Column<TypeCount>[] = [
  { head: 'type', of: ({ type }) => type },
  { head: 'records', right: true, of: ({ records }) => showCount(records) },
  { head: 'bytes', right: true, of: ({ bytes }) => showSize(bytes) },
  { head: 'each', right: true, of: ({ bytes, records }) => (bytes / records).toFixed(1) },
]

const openingColumns: readonly Column<LogStatistics['openings'][number]>[] = [
  { head: 'opening', right: true, of: ({ epoch }) => String(epoch) },
  { head: 'from LSN', right: true, of: ({ firstLsn }) => String(firstLsn) },
  { head: 'at', of: ({ at }) => showTime(at) },
]

const segmentColumns: readonly Column<SegmentStatistics>[] = [
  { head: 'segment', of: ({ file }) => file },
  { head: 'from LSN', right: true, of: ({ firstLsn }) => String(firstLsn) },
  { head: 'records', right: true, of: ({ records }) => showCount(records) },
  { head: 'bytes', right: true, of: ({ bytes }) => showSize(bytes) },
  { head: 'last', of: ({ lastAt }) => (lastAt === undefined ? '' : showTime(lastAt)) },
]

function fileColumns(head: string): readonly Column<NamedFile>[] {
  return [
    { head, of: ({ name }) => name },
    { head: 'bytes', right: true, of: ({ bytes }) => countOf(bytes, 'byte') },
  ]
}
