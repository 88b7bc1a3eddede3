import type { RecordType } from '../record.js'
import type { TaskState } from '../task.js'

/**
 * The state changes of each record, and the rule that is violated when the task is in another
 * state: 000 §4, 003 §1–6 and the two rules of 000 §7 about states. The README lists the other
 * preconditions.
 *
 * Six records name a task and are rejected if its state is not in `from`. LeaseExtended names a
 * lease, which only a LEASED task has. TaskCreated creates its task. TasksForgotten names none: it
 * removes the tasks whose state is in `from` and skips the others.
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
  /** The states in which the task may be before the record. */
  readonly from: readonly TaskState[]
  /**
   * The states in which the task may be after the record. Empty if the state does not change or the
   * task is removed.
   */
  readonly to: readonly TaskState[]
  /**
   * The rule that fails if the task is in another state. For TasksForgotten: the rule that decides
   * which tasks are removed.
   */
  readonly rule: string
}
