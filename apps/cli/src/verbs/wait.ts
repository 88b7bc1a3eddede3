import { defineVerb, duration } from '@tenure/app-kit'
import { awaitingEnds } from '../await-end.js'
import { clientSettings, withClient } from '../coordinator/connection.js'
import { flag } from '../flag.js'
import { taskIdsSettings } from '../task-id.js'
import { forEachTask } from '../tasks/each-task.js'
import { outputSettings } from '../terminal/json.js'

const longestMs = 2 ** 45

export const wait = defineVerb({
  summary:
    'Waits until tasks have ended, and shows how. Exit code 1 if one did not complete, 3 if the time was over.',
  examples: [
    { line: 'tenure wait 17', help: 'For as long as it takes.' },
    { line: 'tenure wait 17 18 19 --timeout 5m', help: 'For all of them, five minutes at most.' },
  ],
  settings: {
    ...taskIdsSettings,
    How: {
      timeout: flag(duration(1, longestMs), { help: 'No longer than that, for all together.' }),
    },
    ...outputSettings,
    ...clientSettings,
  },
  prepare(configuration) {
    const { taskId: taskIds, timeout, json } = configuration.values
    return withClient(configuration, (tenure, host) =>
      forEachTask(taskIds, awaitingEnds(tenure, timeout, host), host, json),
    )
  },
})
