import { defineVerb } from '@tenure/app-kit'
import { clientSettings, withClient } from '../coordinator/connection.js'
import { type Resubmitted, resubmitTask } from '../resubmit-task.js'
import { taskIdsSettings } from '../task-id.js'
import { forEachTask } from '../tasks/each-task.js'
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
