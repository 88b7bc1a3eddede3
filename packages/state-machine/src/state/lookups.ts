import type { State } from './state.js'

/** The row of the task by its id, or 0. */
export function findTask({ authoritative, derived }: State, taskId: number): number {
  const row = derived.byLsn.get(taskId)
  return row !== 0 && authoritative.tasks.taskId.get(row) === taskId ? row : 0
}

/** The row of the task that the lease owns now, or 0. */
export function findOwned({ authoritative, derived }: State, leaseId: number): number {
  const row = derived.byLsn.get(leaseId)
  return row !== 0 && authoritative.tasks.currentLeaseId.get(row) === leaseId ? row : 0
}
