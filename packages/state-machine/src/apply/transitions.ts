import type { RecordType } from '../record.js'
import type { TaskState } from '../task.js'

/**
 * What each record does to the state of its task, and the one rule that a task in another state
 * breaks: 000 §4, 003 §1–6 and the two rules of 000 §7 that speak of states. The other preconditions
 * are listed in the README.
 *
 * Six records name a task and are refused when it is not in `from`. LeaseExtended names a lease,
 * which only a LEASED task has. TaskCreated makes its task, and TasksForgotten names none: it drops
 * the tasks that are in `from` and leaves the others alone.
 */
export const transitions = {
  TaskCreated: {
    from: [],
    to: ['WAITING'],
    rule: 'task_id must not already exist',
  },
  LeaseGranted: {
    from: ['WAITING'],
    to: ['LEASED'],
    rule: 'task must be in WAITING state',
  },
  LeaseExtended: {
    from: ['LEASED'],
    to: [],
    rule: 'lease must exist',
  },
  LeaseExpired: {
    from: ['LEASED'],
    to: ['WAITING'],
    rule: 'task must be in LEASED state',
  },
  TaskCompleted: {
    from: ['LEASED'],
    to: ['COMPLETED'],
    rule: 'task must be in LEASED state',
  },
  TaskFailed: {
    from: ['LEASED'],
    to: ['WAITING', 'FAILED'],
    rule: 'task must be in LEASED state',
  },
  TaskCancelled: {
    from: ['WAITING', 'LEASED', 'COMPLETED', 'FAILED', 'DEAD'],
    to: [],
    rule: 'task must exist',
  },
  TaskDead: {
    from: ['WAITING', 'LEASED'],
    to: ['DEAD'],
    rule: 'task must not be terminal',
  },
  TasksForgotten: {
    from: ['COMPLETED', 'FAILED', 'DEAD'],
    to: [],
    rule: 'task must be terminal',
  },
} as const satisfies { [T in RecordType]: Transition }

interface Transition {
  /** The states in which the record finds its task. */
  readonly from: readonly TaskState[]
  /** The states in which it leaves it; none when it changes none, or removes the task. */
  readonly to: readonly TaskState[]
  /** What fails when the task is in another state; of TasksForgotten, what spares it. */
  readonly rule: string
}
