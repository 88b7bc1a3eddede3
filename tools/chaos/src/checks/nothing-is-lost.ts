import { kinds, readWork, requestIdOf } from '../work/work.js'
import type { Case } from './case.js'
import { isBehind, type TaskHistory } from './history.js'

/**
 * 001 §3, 004 §2: every acknowledged submission is one task in the log, and that task has ended.
 */
export function* findLostTasks({ parcel, history }: Case): Generator<string> {
  for (const { number, taskId } of parcel.acknowledged) {
    const task = history.tasks.get(taskId)
    if (task === undefined)
      yield `submission ${number}: task ${taskId} was acknowledged and is lost`
    else if (task.requestId !== requestIdOf(number)) {
      yield `submission ${number}: task ${taskId} belongs to the request ${task.requestId}`
    }
  }
}

/**
 * 000 §5: one terminal state, one that its handler allows, and the coordinator reports the same.
 */
export function* findWrongEnds({ parcel, history }: Case): Generator<string> {
  const live = new Map(parcel.live.map(({ taskId, state }) => [taskId, state]))
  for (const task of history.tasks.values()) {
    const { taskId, ends } = task
    const [end] = ends
    if (ends.length !== 1) {
      yield `task ${taskId} has ${ends.length} ends: ${ends.join(', ')}`
    } else if (!endsOf(task).includes(end!)) {
      yield `task ${taskId} is ${end}; it should be ${endsOf(task).join(' or ')}`
    }
    const known = isBehind(task, history.forgottenThrough) ? 'forgotten' : end
    const said = live.get(taskId) ?? 'forgotten'
    if (said !== known)
      yield `task ${taskId} is ${known} in the log; the coordinator reports ${said}`
    live.delete(taskId)
  }
  for (const taskId of live.keys())
    yield `the coordinator lists task ${taskId}; it is not in the log`
}

function endsOf({ payload }: TaskHistory): readonly string[] {
  return kinds[readWork(payload).kind].ends
}
