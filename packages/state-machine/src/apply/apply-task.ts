import { defaultQueue, type TaskCreated, type TaskDead, type TasksForgotten } from '../record.js'
import { endAttempt, forgetAttempts } from '../state/attempts.js'
import {
  forgetContents,
  keepInput,
  keepOutcome,
  makeInput,
  makeOutcome,
} from '../state/contents.js'
import { addToDueList, move } from '../state/due-lists.js'
import { keepRetryPolicy } from '../state/retry-policy.js'
import { findTask, type State } from '../state/state.js'
import { outcomes } from '../store/attempt-rows.js'
import { states } from '../store/task-rows.js'
import { refuse, requireTask } from './preconditions.js'

/** 000 §4.1, 003 §1: creates a WAITING task. */
export function applyTaskCreated(state: State, lsn: number, record: TaskCreated): void {
  const { tasks, queues, blobs, counters } = state.authoritative
  const { byLsn, byRequestId } = state.derived
  const { at, taskId, requestId, notBefore } = record
  if (findTask(state, taskId) !== 0) {
    refuse(record, lsn, 'task_id must not already exist', taskId, 'a new id')
  }
  if (taskId !== lsn) refuse(record, lsn, 'task_id must equal the LSN', taskId, lsn)
  const requestHash = requestId === undefined ? 0 : byRequestId.hash(requestId)
  if (requestId !== undefined) {
    const other = byRequestId.find(requestId, requestHash)
    if (other !== 0) {
      const expected = `an id other than that of task ${tasks.taskId.get(other)}`
      refuse(record, lsn, 'request_id must not belong to another task', requestId, expected)
    }
  }
  tasks.makeRoom()
  const input = makeInput(blobs, record.payload, requestId)

  counters.tasksCreated++
  const row = tasks.add()
  tasks.taskId.set(row, taskId)
  tasks.state.set(row, states.WAITING)
  tasks.createdAt.set(row, at)
  tasks.stateSince.set(row, at)
  tasks.due.set(row, Math.max(at, notBefore ?? at))
  tasks.executionWindowMs.set(row, record.executionWindowMs)
  tasks.queue.set(row, queues.use(record.queue ?? defaultQueue))
  keepRetryPolicy(tasks, row, record.retryPolicy)
  keepInput(state, row, input, requestId)
  if (notBefore !== undefined) {
    tasks.notBefore.set(row, notBefore)
    tasks.hasNotBefore.set(row, 1)
  }
  byLsn.add(taskId, row)
  if (requestId !== undefined) byRequestId.add(row, requestHash)
  addToDueList(state, row, at)
}

/** 003 §6: stops a WAITING or LEASED task for good. */
export function applyTaskDead(state: State, lsn: number, record: TaskDead): void {
  const { tasks, blobs, counters } = state.authoritative
  const row = requireTask(state, lsn, record)
  const reason = makeOutcome(blobs, Buffer.from(record.reason))

  counters.tasksDead++
  if (tasks.state.get(row) === states.LEASED) endAttempt(state, row, outcomes.DEAD, record.at)
  keepOutcome(state, row, reason, true)
  move(state, row, states.DEAD, lsn, record.at)
}

/** The ninth record: removes terminal tasks that ended long enough ago. */
export function applyTasksForgotten(state: State, lsn: number, record: TasksForgotten): void {
  const { tasks } = state.authoritative
  const { ended } = state.derived
  const { through } = record
  if (through >= lsn)
    refuse(record, lsn, 'through must lie before the record', through, lsn, 'less than')

  while (ended.first !== 0 && tasks.due.get(ended.first) <= through) forgetTask(state, ended.first)
}

function forgetTask(state: State, row: number): void {
  const { tasks, queues, counters } = state.authoritative
  const { byLsn, byRequestId, waiting, ended, withheld } = state.derived
  counters.tasksForgotten++
  ended.leave(row)
  byLsn.remove(tasks.taskId.get(row))
  if (tasks.requestIdBytes.get(row) > 0) byRequestId.remove(row)
  forgetAttempts(state, row)
  forgetContents(state, row)
  const queue = tasks.queue.get(row)
  if (queues.drop(queue) === 'gone') waiting[queue] = undefined
  withheld.delete(row)
  tasks.remove(row)
}
