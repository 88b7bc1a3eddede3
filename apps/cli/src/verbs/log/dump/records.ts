import { isUtf8 } from 'node:buffer'
import {
  type Entry,
  History,
  keep,
  type LogSource,
  openHistory,
  type Position,
} from '@tenure/history'
import { type LogReader, openReadOnly } from '@tenure/wal'
import { type NamedPosition, resolvePosition } from '../../../log/position.js'
import { toJsonLine } from '../../../terminal/json.js'
import { type FilterOptions, filterFor } from './filter.js'

interface DumpOptions {
  readonly wanted: FilterOptions
  readonly from?: NamedPosition | undefined
  readonly to?: NamedPosition | undefined
  /** Only this many records at the end. */
  readonly last?: number | undefined
  readonly limit: number
  readonly asText: boolean
  /** Ends a dump that waits for new records. */
  readonly following?: AbortSignal | undefined
}

/** Yields chunks of JSON lines. */
export async function* dumpRecords(
  directory: string,
  options: DumpOptions,
): AsyncGenerator<string> {
  const { last, limit, asText } = options
  let left = limit
  const end = last === undefined ? 0 : (await (await openHistory(directory)).end()).lsn
  const found = select(directory, options, end)
  for await (const entries of last === undefined ? found : lastOf(found, last, end)) {
    const shown = entries.slice(0, left)
    yield shown.map((entry) => showRecord(entry, asText)).join('')
    left -= shown.length
    if (left === 0) return
  }
}

/** The records that pass the filters, in the runs in which they are read. */
async function* select(
  directory: string,
  { wanted, last, following, ...range }: DumpOptions,
  end: number,
): AsyncGenerator<Entry[]> {
  const still = await openHistory(directory)
  const from = await resolvePosition(still, range.from)
  const until = await resolvePosition(still, range.to)
  const { history, reader } = await openFollowed(directory, following)
  const isTail = last !== undefined && isUnfiltered(wanted) && until === undefined
  const start = isTail ? end - last + 1 : 1
  const firstWanted = from === undefined ? start : await firstOf(from, reader)
  const fromLsn = Math.max(history.firstLsn, Math.min(firstWanted, firstNeeded(wanted)))
  const takes = filterFor(wanted, await rememberedBefore(still, wanted))
  for await (const run of history.read({ fromLsn, until })) {
    yield run.filter((entry) => takes(entry) && isFrom(from, entry))
    if (until !== undefined && 'lsn' in until && run.at(-1)!.lsn >= until.lsn) return
  }
}

async function firstOf(from: Position, reader: LogReader): Promise<number> {
  return 'lsn' in from ? from.lsn : segmentBefore(reader, from.at)
}

function isUnfiltered(wanted: FilterOptions): boolean {
  return Object.values(wanted).every((want) => want === undefined)
}

/** Filters by task, worker or queue must see the records that introduce its leases. */
function firstNeeded({ task, worker, queue }: FilterOptions): number {
  if (worker !== undefined || queue !== undefined) return 1
  return task ?? Number.MAX_SAFE_INTEGER
}

async function rememberedBefore(still: History, { task, worker, queue }: FilterOptions) {
  const needed = worker !== undefined || queue !== undefined ? 1 : task
  return needed !== undefined && needed < still.firstLsn ? still.oldestState() : undefined
}

function isFrom(from: Position | undefined, { lsn, record }: Entry): boolean {
  if (from === undefined) return true
  return 'lsn' in from ? lsn >= from.lsn : record.at >= from.at
}

/** The last `count` records before `end`, then all records after it. */
async function* lastOf(
  lists: AsyncIterable<readonly Entry[]>,
  count: number,
  end: number,
): AsyncGenerator<readonly Entry[]> {
  let kept: Entry[] | undefined = []
  for await (const list of lists) {
    if (kept === undefined) {
      yield list
      continue
    }
    const old = list.filter(({ lsn }) => lsn <= end)
    kept = count === 0 ? [] : [...kept, ...old.slice(-count).map(keep)].slice(-count)
    if (old.length === list.length && (list.at(-1)?.lsn ?? 0) < end) continue
    yield [...kept, ...list.slice(old.length)]
    kept = undefined
  }
  if (kept !== undefined) yield kept
}

function showRecord({ lsn, record }: Entry, asText: boolean): string {
  const { type, at, ...fields } = record
  const shown: Record<string, unknown> = { lsn, at, time: new Date(at).toISOString(), type }
  for (const [name, value] of Object.entries(fields)) {
    if (!(value instanceof Uint8Array)) shown[name] = value
    else {
      const text = asText ? textOf(value) : undefined
      if (text === undefined) shown[name] = value
      else shown[`${name}Text`] = text
    }
  }
  return toJsonLine(shown)
}

function textOf(bytes: Uint8Array): string | undefined {
  return isUtf8(bytes) ? Buffer.from(bytes).toString() : undefined
}

interface FollowedLog {
  /** If followed, reading waits at the end for new records. */
  readonly history: History
  readonly reader: LogReader
}

/** Only the signal ends a log that is followed. */
async function openFollowed(
  directory: string,
  following: AbortSignal | undefined,
): Promise<FollowedLog> {
  const reader = await openReadOnly(directory)
  const { firstLsn, checkpoints, gaps, openings } = reader
  const source: LogSource = {
    firstLsn,
    checkpoints,
    gaps,
    openings,
    replay: ({ fromLsn }) =>
      reader.replay({ fromLsn, follow: following !== undefined, signal: following }),
    readCheckpoint: (lsn) => reader.readCheckpoint(lsn),
  }
  return { history: new History(source), reader }
}

/** The first LSN of the last segment that begins before a time. */
async function segmentBefore(reader: LogReader, at: number): Promise<number> {
  const starts = reader.segments.map(({ firstLsn }) => firstLsn)
  const history = new History(reader)
  let low = 0
  let high = starts.length - 1
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (await beginsBefore(history, starts[middle]!, at)) low = middle
    else high = middle - 1
  }
  return starts[low] ?? reader.firstLsn
}

async function beginsBefore(history: History, fromLsn: number, at: number): Promise<boolean> {
  for await (const [first] of history.read({ fromLsn })) {
    if (first !== undefined) return first.record.at < at
  }
  return false
}
