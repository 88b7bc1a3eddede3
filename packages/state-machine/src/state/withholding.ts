import { states } from '../store/task-rows.js'
import type { State } from './state.js'
import { findTask } from './state.js'
import { joinLine, leaveLine } from './task-lines.js'

/**
 * Takes a task out of its line while a decision about it is on its way to the disk, so that nobody is
 * offered it and it is not the next to expire. Nothing but derived state changes. `release` follows
 * when the decision's record has been applied.
 */
export function withhold(state: State, taskId: number): void {
  const row = findTask(state, taskId)
  if (row === 0 || state.derived.withheld.has(row)) return
  // The line of ended tasks says what TasksForgotten drops, so nobody is ever missing there.
  if (state.authoritative.tasks.state.get(row) > states.LEASED) return
  leaveLine(state, row)
  state.derived.withheld.add(row)
}

/** Puts the task back in line, unless the record has taken it to another one. */
export function release(state: State, taskId: number): void {
  const row = findTask(state, taskId)
  if (!state.derived.withheld.delete(row)) return
  // Who stands in its new line stays there: to join once more is to go where latecomers stand.
  if (state.authoritative.tasks.place.get(row) === 0) {
    joinLine(state, row, state.authoritative.lastAt)
  }
}
