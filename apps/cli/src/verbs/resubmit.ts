import { defineVerb } from '@tenure/app-kit'
import type { Task, Tenure } from '@tenure/client'
import { clientSettings, withClient } from '../coordinator/connection.js'
import { Refusal } from '../coordinator/refusals.js'
import { forEachTask } from '../tasks/each-task.js'
import { taskIdsSettings } from '../tasks/task-id.js'
import { outputSettings } from '../terminal/json.js'

export const resubmit = defineVerb({
  summary:
    'Submits FAILED or DEAD tasks again, each as a new one. Done twice it gives the same new tasks: the request id names the old one.',
  examples: [
    { line: 'tenure resubmit 17', help: 'A new task with the payload and the options of task 17.' },
    {
      line: 'tenure list --state FAILED --all --json | jq .taskId | xargs tenure resubmit',
      help: 'All that have failed.',
    },
  ],
  settings: { ...taskIdsSettings, ...outputSettings, ...clientSettings },
  prepare(configuration) {
    const { taskId: taskIds, json } = configuration.values
    return withClient(configuration, (tenure, host) =>
      forEachTask(
        taskIds,
        { act: (taskId) => resubmitTask(tenure, taskId), show: showResubmitted },
        host,
        json,
      ),
    )
  },
})

function showResubmitted(taskId: number, { newTaskId, known }: Resubmitted): string {
  const before = known ? `, resubmitted before; if that has failed, resubmit ${newTaskId}` : ''
  return `task ${newTaskId} for task ${taskId}${before}`
}

/** The new task, which does the same again. */
interface Resubmitted {
  readonly newTaskId: number
  /** It had been resubmitted before, and this is the task that came of it. */
  readonly known: boolean
}

/**
 * The same payload under the same options, without its delay, as a new task. The request id names the
 * old one: asked for a second time, it is the same new task.
 */
async function resubmitTask(tenure: Tenure, taskId: number): Promise<Resubmitted> {
  const task = await tenure.get(taskId)
  const { queue, executionWindowMs, retryPolicy } = task
  const payload = payloadOf(task)
  const requestId = `resubmit-${taskId}`
  const submitted = await tenure.submit(payload, {
    queue,
    executionWindowMs,
    retryPolicy,
    requestId,
  })
  return { newTaskId: submitted.taskId, known: submitted.known }
}

function payloadOf({ taskId, state, payload }: Task): Uint8Array {
  if (state === 'COMPLETED') {
    throw new Refusal(
      'TASK_COMPLETED',
      'it is COMPLETED, and keeps no payload; submit a new task with the payload that you have',
    )
  }
  if (state === 'WAITING' || state === 'LEASED') {
    const why = `it is ${state}, and will run by itself: tenure why ${taskId} tells when`
    throw new Refusal(
      'TASK_ALIVE',
      `${why}. To have it run anew, stop it first: tenure kill ${taskId}`,
    )
  }
  // An empty payload may be left out of what is told.
  return payload ?? new Uint8Array()
}
