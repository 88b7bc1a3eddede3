import { defineVerb, text } from '@tenure/app-kit'
import { flag } from '../command-line.js'
import { clientSettings, withClient } from '../coordinator/connection.js'
import { forEachTask } from '../tasks/each-task.js'
import { taskIdsSettings } from '../tasks/task-id.js'
import { outputSettings } from '../terminal/json.js'

export const kill = defineVerb({
  summary:
    'Permanently stop tasks that are WAITING or LEASED; they become DEAD. The worker of a LEASED task is told at its next heartbeat. If the coordinator uses tokens, this needs one with the role admin.',
  examples: [
    { line: 'tenure kill 17 --reason "wrong address"', help: 'Stop task 17 with a reason.' },
    {
      line: 'tenure kill 17 18 19',
      help: 'Stop several tasks; if one cannot be stopped, the others still are.',
    },
    {
      line: 'tenure list --queue mail --state WAITING --all --json | jq .taskId | xargs tenure kill',
      help: 'Stop all waiting tasks of a queue.',
    },
  ],
  settings: {
    ...taskIdsSettings,
    Flags: {
      reason: flag(text('reason'), {
        fallback: 'killed by hand',
        help: 'Reason to store with the task.',
      }),
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
            show: (taskId, { known }) => `task ${taskId} ${known ? 'was already DEAD' : 'DEAD'}`,
          },
          host,
          json,
        ),
      ['admin'],
    )
  },
})
