import { defineVerb, text } from '@tenure/app-kit'
import { flag } from '../command-line.js'
import { clientSettings, withClient } from '../coordinator/connection.js'
import { forEachTask } from '../tasks/each-task.js'
import { taskIdsSettings } from '../tasks/task-id.js'
import { outputSettings } from '../terminal/json.js'

export const kill = defineVerb({
  summary:
    'Stops tasks for good: they become DEAD, whether they wait or run. It takes a token with the role admin.',
  examples: [
    { line: 'tenure kill 17 --reason "wrong address"', help: 'Task 17, and why: get shows it.' },
    {
      line: 'tenure kill 17 18 19',
      help: 'Several. What is refused for one is done for the rest.',
    },
    {
      line: 'tenure list --queue mail --state WAITING --all --json | jq .taskId | xargs tenure kill',
      help: 'All that a query finds.',
    },
  ],
  settings: {
    ...taskIdsSettings,
    What: {
      reason: flag(text('reason'), { fallback: 'killed by hand', help: 'Kept with the task.' }),
    },
    ...outputSettings,
    ...clientSettings,
  },
  prepare(configuration) {
    const { taskId: taskIds, reason, json } = configuration.values
    return withClient(
      configuration,
      (tenure, host) =>
        forEachTask(
          taskIds,
          {
            act: (taskId) => tenure.kill(taskId, reason),
            show: (taskId, { known }) => `task ${taskId} DEAD${known ? ', and was before' : ''}`,
          },
          host,
          json,
        ),
      ['admin'],
    )
  },
})
