import { kinds, readWork, requestIdOf } from '../work/work.js'
import type { Case } from './case.js'
import { isBehind, type TaskStory } from './history.js'

/** 001 §3, 004 §2: what was acknowledged is in the log, once, and has come to its one end. */
export function* findLostTasks({ parcel, history }: Case): Generator<string> {
  for (const { number, taskId } of parcel.acknowledged) {
    const task = history.tasks.get(taskId)
    if (task === undefined)
      yield `submission ${number}: task ${taskId} was acknowledged and is lost`
    else if (task.requestId !== requestIdOf(number)) {
      yield `submission ${number}: task ${taskId} was made by the request ${task.requestId}`
    }
  }
}

/** 000 §5: one terminal state, the one that its handler deserves, and the coordinator says the same. */
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
    if (said !== known) yield `task ${taskId} is ${known} in the log; the coordinator says ${said}`
    live.delete(taskId)
  }
  for (const taskId of live.keys()) yield `the coordinator lists task ${taskId}; it is in no log`
}

function endsOf({ payload }: TaskStory): readonly string[] {
  return kinds[readWork(payload).kind].ends
}
