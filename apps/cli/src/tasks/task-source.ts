import type { Counters, ListOptions, Stats, Task, TaskSummary } from '@tenure/client'
import { openHistory } from '@tenure/history'
import {
  countQueues,
  countTasks,
  getCounters,
  getTask,
  listTasks,
  position,
  type State,
} from '@tenure/state-machine'
import { longestQueues } from '@tenure/state-machine/internal'
import { type NamedPosition, resolvePosition } from '../log/position.js'

/** A source of tasks: a log, or a coordinator, since the client's `Tenure` fits this interface. */
export interface TaskSource {
  get(taskId: number): Promise<Task>
  /** In the order of their ids. */
  list(options: TaskFilter): AsyncIterable<TaskSummary>
  stats(): Promise<TaskStats>
}

/** Which tasks to list. */
export interface TaskFilter extends Pick<ListOptions, 'state' | 'queue' | 'limit'> {
  readonly fromTaskId?: number | undefined
}

/** Counts. Those of workers and connections are absent if the source is a log. */
export interface TaskStats extends Pick<Stats, 'tasks'> {
  readonly lastLsn: number
  readonly lastAt: number
  readonly now: number
  readonly startedAt?: number | undefined
  readonly epoch?: number | undefined
  readonly restarts?: number | undefined
  readonly counters: Counters
  readonly queues: number
  readonly workers?: number | undefined
  readonly connections?: number | undefined
  readonly waitingPolls?: number | undefined
  readonly diskFull?: boolean | undefined
  readonly diskFreeBytes?: number | undefined
  readonly lines?: readonly TaskLine[] | undefined
  readonly linesLeftOut?: number | undefined
}

export interface TaskLine {
  readonly queue: string
  readonly waiting: number
  readonly firstEligibleAt?: number
  readonly pollsWaiting?: number
  readonly lastAskedAt?: number
}

const linesMax = 100

/** The tasks of a log at some moment, as a coordinator would have answered then. */
export class LogTasks implements TaskSource {
  /** The last applied record. */
  readonly asOf: { readonly lsn: number; readonly at: number }
  readonly #state: State
  readonly #epoch: number | undefined

  constructor(state: State, epoch: number | undefined) {
    const { lastLsn: lsn, lastAt: at } = position(state)
    this.asOf = { lsn, at }
    this.#state = state
    this.#epoch = epoch
  }

  async get(taskId: number): Promise<Task> {
    const task = getTask(this.#state, taskId)
    if (task !== undefined) return task
    throw new TaskNotInLog(`task ${taskId} is not in the log as of LSN ${this.asOf.lsn}`)
  }

  async *list({ state, queue, fromTaskId, limit }: TaskFilter): AsyncGenerator<TaskSummary> {
    let left = limit ?? Number.POSITIVE_INFINITY
    for (const task of listTasks(this.#state, fromTaskId)) {
      if (left === 0) return
      if (state !== undefined && task.state !== state) continue
      if (queue !== undefined && task.queue !== queue) continue
      left--
      yield task
    }
  }

  async stats(): Promise<TaskStats> {
    const state = this.#state
    const queues = countQueues(state)
    const { lsn: lastLsn, at: lastAt } = this.asOf
    return {
      lastLsn,
      lastAt,
      now: lastAt,
      epoch: this.#epoch,
      tasks: countTasks(state),
      counters: getCounters(state),
      queues,
      lines: longestQueues(state, { limit: linesMax, lookAtMax: queues }),
      linesLeftOut: Math.max(0, queues - linesMax),
    }
  }
}

/** The log in a directory as of a moment, by default its end. */
export async function openLogTasks(
  directory: string,
  at: NamedPosition | undefined,
): Promise<LogTasks> {
  const history = await openHistory(directory)
  const until = await resolvePosition(history, at)
  const state = await history.stateAt(until === undefined ? {} : { until })
  const { lastLsn } = position(state)
  const opening = history.openings.findLast(({ firstLsn }) => firstLsn <= lastLsn)
  return new LogTasks(state, opening?.epoch)
}

class TaskNotInLog extends Error {
  readonly code = 'LOG_NO_SUCH_TASK'
}
