import { listTasks, position, type State, type TaskState } from '@tenure/state-machine'
import { getSummary } from '@tenure/state-machine/internal'
import { type Entry, entriesOf } from '../follow/entry.js'
import type { LsnRange } from '../follow/log-source.js'
import { omitUndefined } from '../omit-undefined.js'

/** A batch after damage. `records` is absent if only the header could be read. */
export interface Fragment {
  readonly firstLsn: number
  readonly count: number
  readonly records?: readonly Uint8Array[] | undefined
}

/** The effects of giving up all records after a place of damage, as far as they are known. */
export interface Loss {
  /** The last record that is kept. */
  readonly keptThrough: number
  /** The highest LSN that any evidence shows. There may have been later records without a trace. */
  readonly lastKnownLsn: number
  /** Records after the damage that can be read, and those that cannot. */
  readonly readable: readonly LsnRange[]
  readonly unreadable: readonly LsnRange[]
  /** Tasks that will not exist any more, although their clients hold an id. */
  readonly vanishing: readonly VanishingTask[]
  /** Tasks that had ended according to records after the damage. They will run again. */
  readonly undone: readonly UndoneTask[]
  /** Tasks that were open at the damage and whose end is unknown. They may have ended since. */
  readonly open: readonly OpenTask[]
}

export interface VanishingTask {
  readonly taskId: number
  readonly queue?: string
  readonly requestId?: string
  /** The state in which it had ended. */
  readonly ended?: EndedState
}

export interface UndoneTask {
  readonly taskId: number
  /** The terminal state that will be undone. */
  readonly ended: EndedState
  readonly lsn: number
}

export interface OpenTask {
  readonly taskId: number
  readonly state: TaskState
}

type EndedState = 'COMPLETED' | 'FAILED' | 'DEAD'

export interface LossOptions {
  /** The last LSN known from evidence other than the fragments. */
  readonly lastKnownLsn?: number | undefined
}

/** Compares the state before the damage with the records after it. */
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

/** The tasks that the records after the damage create and end. Some records may be missing. */
class Ends {
  readonly created = new Map<number, VanishingTask>()
  readonly undone = new Map<number, UndoneTask>()
  readonly #state: State
  /** Reported failures by task, and the number of retries. */
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

  /** A task whose creation cannot be read will be lost, whatever later records say. */
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

  /** Sorted ranges. Ranges that touch or overlap are merged. */
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
