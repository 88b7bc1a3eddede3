import type { RecordType } from './record.js'
import type { TaskState } from './task.js'

/**
 * What each record does to the state of its task: 000 §4, 003 §1–6 and the two rules of 000 §7 that
 * speak of states, line by line. `apply` refuses what is not in `from`; the tests hold it to `to`.
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
  /** The precondition that fails when the task is in another state. */
  readonly rule: string
}
