import type { ListOptions, Stats, Task, TaskSummary } from '@tenure/client'

/** Where tasks are read from. A coordinator is one: `Tenure` of the client answers all of it. */
export interface TaskSource {
  get(taskId: number): Promise<Task>
  /** In the order of their ids. */
  list(options: ListOptions): AsyncIterable<TaskSummary>
  stats(): Promise<Stats>
}
