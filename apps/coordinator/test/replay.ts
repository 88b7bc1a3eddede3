import {
  apply,
  createState,
  getLease,
  getTask,
  type LogRecord,
  type State,
  type Task,
} from '@tenure/state-machine'
import type { Entry } from './log-book.js'

/** Each record as it is applied: the task it is about, before and after. */
export function* replay(entries: readonly Entry[]): Generator<Step> {
  const state = createState()
  for (const { lsn, record } of entries) {
    const taskId = taskOf(state, record)
    const before = taskId === undefined ? undefined : getTask(state, taskId)
    apply(state, lsn, record)
    const after = taskId === undefined ? undefined : getTask(state, taskId)
    yield { lsn, record, state, before, after }
  }
}

export interface Step extends Entry {
  readonly state: State
  readonly before: Task | undefined
  readonly after: Task | undefined
}

function taskOf(state: State, record: LogRecord): number | undefined {
  if (record.type === 'TasksForgotten') return undefined
  return record.type === 'LeaseExtended' ? getLease(state, record.leaseId)?.taskId : record.taskId
}
