import { getTask, position } from '@tenure/state-machine'
import { type Entry, keep } from '../follow/entry.js'
import { type History, refuseFuture } from '../follow/history.js'
import type { LsnRange, Opening } from '../follow/log-source.js'
import { isWithin, type Position } from '../follow/position.js'
import { omitUndefined } from '../omit-undefined.js'
import { type RememberedTask, rewind } from './remembered.js'
import { filterBehind } from './task-filter.js'

/** What a log says about one task. */
export interface TaskHistory {
  readonly taskId: number
  /** Every record that concerns the task and is left, in order. */
  readonly entries: readonly Entry[]
  /** The first record that the log still has: what happened before is only remembered. */
  readonly firstLsn: number
  /** The task as a checkpoint or a coordinator remembers it, where records of it were removed. */
  readonly remembered?: RememberedTask
  readonly openings: readonly TaskOpening[]
  /** LSNs behind the task's creation of which the log has no records, and says so. */
  readonly gaps?: readonly LsnRange[]
}

/** A coordinator opened the log, while the task was there. */
export interface TaskOpening extends Opening {
  /** The last record of the log before: a coordinator ran until then at least. */
  readonly lastRecordAt?: number
}

export interface TaskHistoryOptions {
  readonly until?: Position
  /** Told how many records were looked at. */
  readonly onProgress?: (read: number) => void
}

/** Reads from the task's creation on all that concerns it. Without any record of it, `entries` is empty. */
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

/** The last LSN, given the last one that has a record. */
function lastKnown({ gaps }: History, lsn: number): number {
  return Math.max(lsn, ...gaps.filter((gap) => gap.firstLsn <= lsn + 1).map((gap) => gap.lastLsn))
}

/** When the log went on behind the gap. */
function openingOf({ openings }: History, { lastLsn }: LsnRange): number {
  return openings.find(({ firstLsn }) => firstLsn === lastLsn + 1)?.at ?? 0
}

/** The same up to a moment. A memory knows what came later, and cannot tell it apart. */
export function cutTaskHistory(history: TaskHistory, until: Position): TaskHistory {
  const { taskId, firstLsn, entries, openings } = history
  return {
    taskId,
    firstLsn,
    entries: entries.filter(({ lsn, record }) => isWithin(until, lsn, record.at)),
    openings: openings.filter(({ firstLsn, at }) => isWithin(until, firstLsn, at)),
  }
}

/** Openings, each with the time of the last record that was read before it. */
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

/** The oldest checkpoint lies nearest to what was removed. */
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
    // At a time before all that is left there was something that nobody knows any more.
    if (isFirst && 'at' in until! && first.record.at > until.at) return undefined
    for (const entry of run) {
      if (!filter.takes(entry) || isWithin(until, entry.lsn, entry.record.at)) continue
      later.push(keep(entry))
    }
  }
  return rewind(task, later)
}
