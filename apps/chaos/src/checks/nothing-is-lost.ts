import type { Case } from '../case.js'
import type { TaskStory } from '../history.js'
import { kinds, readWork, requestIdOf } from '../work.js'

/** 001 §3, 004 §2: what was acknowledged is in the log, once, and has come to its one end. */
export function* findLostTasks({ evidence, history }: Case): Generator<string> {
  for (const [number, taskId] of evidence.acknowledged) {
    const task = history.tasks.get(taskId)
    if (task === undefined)
      yield `submission ${number}: task ${taskId} was acknowledged and is lost`
    else if (task.requestId !== requestIdOf(number)) {
      yield `submission ${number}: task ${taskId} was made by the request ${task.requestId}`
    }
  }
}

/** A request id is one task, however often it was sent. */
export function* findRepeatedTasks({ history }: Case): Generator<string> {
  const tasks = new Map<string, number>()
  for (const { requestId, taskId } of history.tasks.values()) {
    const first = tasks.get(requestId)
    if (first !== undefined) yield `request ${requestId} is task ${first} and task ${taskId}`
    tasks.set(requestId, taskId)
  }
}

/** 000 §5: one terminal state, the one that its handler deserves, and the coordinator says the same. */
export function* findWrongEnds({ evidence, history }: Case): Generator<string> {
  for (const task of history.tasks.values()) {
    const { taskId, ends } = task
    const [end] = ends
    if (ends.length !== 1) {
      yield `task ${taskId} has ${ends.length} ends: ${ends.join(', ')}`
    } else if (!endsOf(task).includes(end!)) {
      yield `task ${taskId} is ${end}; it should be ${endsOf(task).join(' or ')}`
    }
    const said = evidence.live.get(taskId)
    if (said !== end) yield `task ${taskId} is ${end} in the log; the coordinator says ${said}`
  }
}

function endsOf({ payload }: TaskStory): readonly string[] {
  return kinds[readWork(payload).kind].ends
}
