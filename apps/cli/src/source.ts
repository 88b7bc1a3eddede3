import type { Counters, ListOptions, Stats, Task, TaskSummary } from '@tenure/client'

/** Where tasks are read from. A coordinator is one: `Tenure` of the client answers all of it. */
export interface TaskSource {
  get(taskId: number): Promise<Task>
  /** In the order of their ids. */
  list(options: ListOptions): AsyncIterable<TaskSummary>
  stats(): Promise<TaskStats>
}

/** What is counted. Only a coordinator knows of workers and connections: a log does not. */
export interface TaskStats extends Pick<Stats, 'tasks'> {
  readonly lastLsn: number
  readonly lastAt: number
  readonly now: number
  readonly startedAt?: number
  readonly epoch?: number
  readonly restarts?: number
  readonly counters: Counters
  readonly queues: number
  readonly workers?: number
  readonly connections?: number
  readonly waitingPolls?: number
  readonly diskFull?: boolean
  readonly diskFreeBytes?: number
  readonly lines?: readonly TaskLine[]
  readonly linesLeftOut?: number
}

export interface TaskLine {
  readonly queue: string
  readonly waiting: number
  readonly firstEligibleAt?: number
  readonly pollsWaiting?: number
  readonly lastAskedAt?: number
}
