import { defineVerb } from '@tenure/app-kit'
import type { Task, Tenure } from '@tenure/client'
import { clientSettings, withClient } from '../coordinator/connection.js'
import { TaskError } from '../coordinator/errors.js'
import { forEachTask } from '../tasks/each-task.js'
import { taskIdsSettings } from '../tasks/task-id.js'
import { outputSettings } from '../terminal/json.js'

export const resubmit = defineVerb({
  summary:
    'Submit FAILED or DEAD tasks again as new tasks. The request id of the new task is derived from the old task, so resubmitting one task twice creates one new task.',
  examples: [
    {
      line: 'tenure resubmit 17',
      help: 'Create a new task with the payload and the options of task 17.',
    },
    {
      line: 'tenure list --state FAILED --all --json | jq .taskId | xargs tenure resubmit',
      help: 'Resubmit all failed tasks.',
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
  const before = known
    ? `, already resubmitted; if the new task has failed, too, resubmit ${newTaskId}`
    : ''
  return `task ${newTaskId} for task ${taskId}${before}`
}

interface Resubmitted {
  readonly newTaskId: number
  /** The old task had been resubmitted before, as this new task. */
  readonly known: boolean
}

/**
 * Submits the payload with the same options, but without the delay. The request id names the old task,
 * so a second resubmission returns the same new task.
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
    throw new TaskError(
      'TASK_COMPLETED',
      'it is COMPLETED and its payload is no longer stored; submit a new task with your own copy of the payload',
    )
  }
  if (state === 'WAITING' || state === 'LEASED') {
    const why = `it is ${state} and has not ended; tenure why ${taskId} shows its progress`
    throw new TaskError(
      'TASK_NOT_ENDED',
      `${why}. To start it anew, stop it first: tenure kill ${taskId}`,
    )
  }
  // An empty payload may be absent from the answer.
  return payload ?? new Uint8Array()
}
