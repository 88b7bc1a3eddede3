import { listTasks, position, type State, type TaskState } from '@tenure/state-machine'
import { getSummary } from '@tenure/state-machine/internal'
import { type Entry, entriesOf } from '../follow/entry.js'
import type { LsnRange } from '../follow/log-source.js'
import { omitUndefined } from '../omit-undefined.js'

/** A batch behind damage: its records, or only how many there were. */
export interface Fragment {
  readonly firstLsn: number
  readonly count: number
  readonly records?: readonly Uint8Array[] | undefined
}

/**
 * What is given up when a log goes on from before its damage: what can be told of it, and what
 * cannot.
 */
export interface Loss {
  /** The last record that is kept. */
  readonly keptThrough: number
  /** The highest LSN of which anything tells. Records behind it, if there were any, have left no trace. */
  readonly lastKnownLsn: number
  /** Records behind the damage that can still be read, and those that cannot. */
  readonly readable: readonly LsnRange[]
  readonly unreadable: readonly LsnRange[]
  /** Tasks that are no more: whoever submitted them holds an id that means nothing. */
  readonly vanishing: readonly VanishingTask[]
  /** Tasks that had ended, as the records behind tell: they run again. */
  readonly undone: readonly UndoneTask[]
  /** Tasks that were open at the damage, of whose end nothing tells: they may have ended since. */
  readonly open: readonly OpenTask[]
}

export interface VanishingTask {
  readonly taskId: number
  readonly queue?: string
  readonly requestId?: string
  /** How it had ended. */
  readonly ended?: EndedState
}

export interface UndoneTask {
  readonly taskId: number
  /** What it was, and is not afterwards. */
  readonly ended: EndedState
  readonly lsn: number
}

export interface OpenTask {
  readonly taskId: number
  readonly state: TaskState
}

type EndedState = 'COMPLETED' | 'FAILED' | 'DEAD'

export interface LossOptions {
  /** As far as something beside the fragments tells: the last LSN that was issued. */
  readonly lastKnownLsn?: number | undefined
}

/** Holds the state before the damage against what is left behind it. */
export async function assessLoss(
  state: State,
  fragments: AsyncIterable<Fragment>,
  { lastKnownLsn = 0 }: LossOptions = {},
): Promise<Loss> {
  const keptThrough = position(state).lastLsn
  const readable = new Ranges()
  const ends = new Ends(state)
  let last = Math.max(keptThrough, lastKnownLsn)
  for await (const { firstLsn, count, records } of fragments) {
    last = Math.max(last, firstLsn + count - 1)
    if (records === undefined || firstLsn <= keptThrough) continue
    readable.add({ firstLsn, lastLsn: firstLsn + count - 1 })
    for (const entry of entriesOf({ firstLsn, records })) ends.add(entry)
  }
  return {
    keptThrough,
    lastKnownLsn: last,
    readable: readable.all(),
    unreadable: readable.missing({ firstLsn: keptThrough + 1, lastLsn: last }),
    vanishing: [...ends.created.values()],
    undone: [...ends.undone.values()],
    open: [...openTasks(state)].filter(({ taskId }) => !ends.undone.has(taskId)),
  }
}

function* openTasks(state: State): Generator<OpenTask> {
  for (const task of listTasks(state)) {
    if (task.state === 'WAITING' || task.state === 'LEASED') {
      yield { taskId: task.taskId, state: task.state }
    }
  }
}

/** Which tasks the records behind the damage create and end, though some are missing between them. */
class Ends {
  readonly created = new Map<number, VanishingTask>()
  readonly undone = new Map<number, UndoneTask>()
  readonly #state: State
  /** Reports of failure, and how many a task takes. */
  readonly #failures = new Map<number, number>()
  readonly #retries = new Map<number, number>()

  constructor(state: State) {
    this.#state = state
  }

  add({ lsn, record }: Entry): void {
    if ('taskId' in record) this.#note(record.taskId)
    switch (record.type) {
      case 'TaskCreated': {
        const { taskId, queue, requestId, retryPolicy } = record
        this.#retries.set(taskId, retryPolicy.maxRetries)
        this.created.set(
          taskId,
          omitUndefined<VanishingTask>({
            ...this.created.get(taskId)!,
            queue,
            requestId,
          }),
        )
        return
      }
      case 'TaskCompleted':
        this.#end(record.taskId, 'COMPLETED', lsn)
        return
      case 'TaskDead':
        this.#end(record.taskId, 'DEAD', lsn)
        return
      case 'TaskFailed':
        if (this.#isLastFailure(record.taskId)) this.#end(record.taskId, 'FAILED', lsn)
        return
      case 'LeaseGranted':
      case 'LeaseExtended':
      case 'LeaseExpired':
      case 'TaskCancelled':
      case 'TasksForgotten':
    }
  }

  /** A task whose creation cannot be read is gone all the same, whatever is read of it. */
  #note(taskId: number): void {
    if (this.created.has(taskId) || getSummary(this.#state, taskId) !== undefined) return
    this.created.set(taskId, { taskId })
  }

  #isLastFailure(taskId: number): boolean {
    const known = getSummary(this.#state, taskId)
    const failures = (this.#failures.get(taskId) ?? known?.failures ?? 0) + 1
    this.#failures.set(taskId, failures)
    const retries = this.#retries.get(taskId) ?? known?.retryPolicy.maxRetries
    return retries !== undefined && failures > retries
  }

  #end(taskId: number, ended: EndedState, lsn: number): void {
    const known = getSummary(this.#state, taskId)
    if (known !== undefined) this.undone.set(taskId, { taskId, ended, lsn })
    else this.created.set(taskId, { ...this.created.get(taskId)!, ended })
  }
}

class Ranges {
  #ranges: LsnRange[] = []

  add(range: LsnRange): void {
    this.#ranges.push(range)
  }

  /** In order, with those that touch or overlap as one. */
  all(): LsnRange[] {
    const merged: { firstLsn: number; lastLsn: number }[] = []
    for (const { firstLsn, lastLsn } of this.#ranges.sort((a, b) => a.firstLsn - b.firstLsn)) {
      const before = merged.at(-1)
      if (before !== undefined && firstLsn <= before.lastLsn + 1) {
        before.lastLsn = Math.max(before.lastLsn, lastLsn)
      } else merged.push({ firstLsn, lastLsn })
    }
    this.#ranges = merged
    return merged
  }

  missing({ firstLsn, lastLsn }: LsnRange): LsnRange[] {
    const gaps: LsnRange[] = []
    let next = firstLsn
    for (const range of this.all()) {
      if (range.firstLsn > next) gaps.push({ firstLsn: next, lastLsn: range.firstLsn - 1 })
      next = range.lastLsn + 1
    }
    if (next <= lastLsn) gaps.push({ firstLsn: next, lastLsn })
    return gaps
  }
}
