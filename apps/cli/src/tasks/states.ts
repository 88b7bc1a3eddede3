import type { Attempt, TaskState } from '@tenure/client'
import type { Style } from '../terminal/display.js'
import type { Cell } from '../terminal/table.js'

/** The style of a task state or of the outcome of an attempt. */
export const styleOfState: Readonly<Record<TaskState | Attempt['outcome'], Style | undefined>> = {
  WAITING: undefined,
  LEASED: 'busy',
  OPEN: 'busy',
  COMPLETED: 'good',
  FAILED: 'bad',
  DEAD: 'bad',
  EXPIRED: 'bad',
}

export function stateCell(state: TaskState, more = ''): Cell {
  return { text: state + more, style: styleOfState[state] }
}
