import { getTask, position } from '@tenure/state-machine'
import { type Entry, keep } from '../follow/entry.js'
import { type History, refuseFuture } from '../follow/history.js'
import type { LsnRange, Opening } from '../follow/log-source.js'
import { isWithin, type Position } from '../follow/position.js'
import { omitUndefined } from '../omit-undefined.js'
import { type RememberedTask, rewind } from './remembered.js'
import { filterBehind } from './task-filter.js'

/** All records of a log about one task. */
export interface TaskHistory {
  readonly taskId: number
  /** Every remaining record that concerns the task, in order. */
  readonly entries: readonly Entry[]
  /** The first remaining record of the log. Earlier events are only remembered. */
  readonly firstLsn: number
  /** The task as remembered by a checkpoint or a coordinator, if records of it were removed. */
  readonly remembered?: RememberedTask
  readonly openings: readonly TaskOpening[]
  /** Declared gaps after the task's creation. */
  readonly gaps?: readonly LsnRange[]
}

/** One open of the log by a coordinator during the life of the task. */
export interface TaskOpening extends Opening {
  /** Time of the last record before it. A coordinator was running at least until then. */
  readonly lastRecordAt?: number
}

export interface TaskHistoryOptions {
  readonly until?: Position
  /** Called with the number of records read. */
  readonly onProgress?: (read: number) => void
}

/** Reads all records about the task, from its creation. Without any, `entries` is empty. */
export async function readTaskHistory(
  history: History,
  taskId: number,
  { until, onProgress }: TaskHistoryOptions = {},
): Promise<TaskHistory> {
  const { firstLsn } = history
  const remembered = taskId < firstLsn ? await recall(history, taskId, until) : undefined
  const filter = filterBehind(taskId, remembered)
  const entries: Entry[] = []
  const openings = new OpeningsPassed(
    history.openings.filter(({ firstLsn, at }) => isWithin(until, firstLsn, at)),
  )
  let read = 0
  let lastLsn: number | undefined
  const span = { fromLsn: Math.max(taskId, firstLsn), until }
  for await (const run of history.read(span)) {
    for (const entry of run) {
      openings.pass(entry)
      if (filter.takes(entry)) entries.push(keep(entry))
    }
    lastLsn = run.at(-1)?.lsn
    read += run.length
    onProgress?.(read)
  }
  if (lastLsn !== undefined) refuseFuture(lastKnown(history, lastLsn), until)
  const gaps = history.gaps.filter(
    (gap) => gap.lastLsn > taskId && isWithin(until, gap.firstLsn, openingOf(history, gap)),
  )
  return omitUndefined<TaskHistory>({
    taskId,
    entries,
    firstLsn,
    openings: openings.all(),
    gaps,
    remembered,
  })
}

/** The last LSN that is known to have been issued, given the last one that has a record. */
function lastKnown({ gaps }: History, lsn: number): number {
  return Math.max(lsn, ...gaps.filter((gap) => gap.firstLsn <= lsn + 1).map((gap) => gap.lastLsn))
}

/** The time at which the log continued after the gap. */
function openingOf({ openings }: History, { lastLsn }: LsnRange): number {
  return openings.find(({ firstLsn }) => firstLsn === lastLsn + 1)?.at ?? 0
}

/** The history up to a moment. A memory includes later events and cannot separate them. */
export function cutTaskHistory(history: TaskHistory, until: Position): TaskHistory {
  const { taskId, firstLsn, entries, openings } = history
  return {
    taskId,
    firstLsn,
    entries: entries.filter(({ lsn, record }) => isWithin(until, lsn, record.at)),
    openings: openings.filter(({ firstLsn, at }) => isWithin(until, firstLsn, at)),
  }
}

/** The opens so far, each with the time of the last record before it. */
class OpeningsPassed {
  readonly #passed: TaskOpening[] = []
  readonly #ahead: Opening[]
  #lastAt: number | undefined

  constructor(openings: readonly Opening[]) {
    this.#ahead = [...openings]
  }

  pass({ lsn, record }: Entry): void {
    while (this.#ahead[0] !== undefined && this.#ahead[0].firstLsn <= lsn) this.#passNext()
    this.#lastAt = record.at
  }

  all(): TaskOpening[] {
    while (this.#ahead.length > 0) this.#passNext()
    return this.#passed
  }

  #passNext(): void {
    const opening = this.#ahead.shift()!
    const known = this.#lastAt === undefined ? {} : { lastRecordAt: this.#lastAt }
    this.#passed.push({ ...opening, ...known })
  }
}

/** The oldest checkpoint is nearest to the removed records. */
async function recall(
  history: History,
  taskId: number,
  until: Position | undefined,
): Promise<RememberedTask | undefined> {
  const state = await history.oldestState()
  const task = state && getTask(state, taskId)
  if (task === undefined) return undefined
  const { lastLsn, lastAt } = position(state!)
  if (isWithin(until, lastLsn, lastAt)) return task
  if ('lsn' in until! && until.lsn < history.firstLsn - 1) return undefined
  const filter = filterBehind(taskId, task)
  const later: Entry[] = []
  for await (const run of history.read({ until: { lsn: lastLsn } })) {
    const first = run[0]!
    const isFirst = first.lsn === history.firstLsn
    // At a time before all remaining records there were events that are unknown now.
    if (isFirst && 'at' in until! && first.record.at > until.at) return undefined
    for (const entry of run) {
      if (!filter.takes(entry) || isWithin(until, entry.lsn, entry.record.at)) continue
      later.push(keep(entry))
    }
  }
  return rewind(task, later)
}
