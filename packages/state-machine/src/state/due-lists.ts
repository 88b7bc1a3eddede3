import { DueList } from '../store/due-list.js'
import { states } from '../store/task-rows.js'
import { findTask, type State } from './state.js'

/** The due list for a task in this state. */
function dueListOf({ authoritative, derived }: State, row: number): DueList {
  const { tasks } = authoritative
  const state = tasks.state.get(row)
  if (state === states.LEASED) return derived.leased
  if (state !== states.WAITING) return derived.ended
  const queue = tasks.queue.get(row)
  let line = derived.waiting[queue]
  if (line === undefined) {
    line = new DueList(tasks)
    derived.waiting[queue] = line
  }
  return line
}

/**
 * Adds a task to the list of its state and queue. Many later tasks may be inserted before a waiting
 * task that is not eligible yet, so such a task goes to the heap.
 */
export function addToDueList(state: State, row: number, now: number): void {
  const waits = state.authoritative.tasks.state.get(row) === states.WAITING
  dueListOf(state, row).join(row, waits ? now : Number.POSITIVE_INFINITY)
}

function leaveLine(state: State, row: number): void {
  dueListOf(state, row).leave(row)
}

/** Changes the state of a task: moves it from its list to the new one. */
export function move(state: State, row: number, to: number, due: number, at: number): void {
  const { tasks } = state.authoritative
  dueListOf(state, row).leave(row)
  tasks.state.set(row, to)
  tasks.stateSince.set(row, at)
  tasks.due.set(row, due)
  addToDueList(state, row, at)
}

/**
 * Removes a task from its list while a decision about it is in flight, so that it is not offered
 * and is not the next one to expire. Changes only derived state. `release` follows after the
 * decision's record has been applied.
 */
export function withhold(state: State, taskId: number): void {
  const row = findTask(state, taskId)
  if (row === 0 || state.derived.withheld.has(row)) return
  // The list of ended tasks decides what TasksForgotten removes, so it must be complete.
  if (state.authoritative.tasks.state.get(row) > states.LEASED) return
  leaveLine(state, row)
  state.derived.withheld.add(row)
}

/** Puts the task back into its list, unless the record has moved it to another one. */
export function release(state: State, taskId: number): void {
  const row = findTask(state, taskId)
  if (!state.derived.withheld.delete(row)) return
  // A task that is already in its new list keeps its position: adding it again would move it to the
  // end.
  if (state.authoritative.tasks.place.get(row) === 0) {
    addToDueList(state, row, state.authoritative.lastAt)
  }
}
