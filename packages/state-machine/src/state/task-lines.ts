import { Line } from '../store/line.js'
import { states } from '../store/task-rows.js'
import { findTask, type State } from './state.js'

/** The line in which a task of this state stands. */
function lineOf({ authoritative, derived }: State, row: number): Line {
  const { tasks } = authoritative
  const state = tasks.state.get(row)
  if (state === states.LEASED) return derived.leased
  if (state !== states.WAITING) return derived.ended
  const queue = tasks.queue.get(row)
  let line = derived.waiting[queue]
  if (line === undefined) {
    line = new Line(tasks)
    derived.waiting[queue] = line
  }
  return line
}

/**
 * Puts a task in the line of its state and queue. Waiting tasks that are not eligible yet will be
 * overtaken by every task that comes before they are.
 */
export function joinLine(state: State, row: number, now: number): void {
  const waits = state.authoritative.tasks.state.get(row) === states.WAITING
  lineOf(state, row).join(row, waits ? now : Number.POSITIVE_INFINITY)
}

function leaveLine(state: State, row: number): void {
  lineOf(state, row).leave(row)
}

/** Takes the task to another state: out of the line it stands in, into its new one. */
export function move(state: State, row: number, to: number, due: number, at: number): void {
  const { tasks } = state.authoritative
  lineOf(state, row).leave(row)
  tasks.state.set(row, to)
  tasks.stateSince.set(row, at)
  tasks.due.set(row, due)
  joinLine(state, row, at)
}

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
