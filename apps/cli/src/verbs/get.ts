import { argument, defineVerb, exitCodes, setting, yesOrNo } from '@tenure/app-kit'
import { aboutTask } from '../about-task.js'
import { showTask } from '../show/task.js'
import { logOf, namedTask } from '../tasks/task-id.js'
import { type Reading, sourceSettings, withSource } from '../tasks/with-source.js'
import { outputSettings, toJsonLine } from '../terminal/json.js'
import { lookOf } from '../terminal/look.js'
import { writeResult } from '../write-result.js'

export const get = defineVerb({
  summary: 'Shows a task, with its attempts and its result.',
  examples: [
    { line: 'tenure get 17', help: 'Task 17.' },
    { line: 'tenure get 17 --result > cat.png', help: 'Its result alone, byte by byte.' },
    { line: "tenure get 17 --json | jq -r '.attempts[].workerId'", help: 'Who has had it.' },
    {
      line: 'tenure get tenure-data#17 --at -1h',
      help: 'As it was an hour before the end of that log.',
    },
  ],
  settings: {
    Which: {
      taskId: argument(namedTask(), {
        help: 'The id of the task; behind a directory and #, one in its log.',
      }),
    },
    What: {
      result: setting(yesOrNo(), {
        fallback: false,
        sources: ['flag'],
        help: 'Writes the bytes of the result and nothing else. Exit code 1 where there is none.',
      }),
    },
    ...outputSettings,
    ...sourceSettings,
  },
  prepare(configuration) {
    const { taskId, json, result } = configuration.values
    const reading: Reading = async (source, host) => {
      const task = await aboutTask(taskId.taskId, source.get(taskId.taskId))
      if (result) return writeResult(task, host)
      host.stdout.write(json ? toJsonLine(task) : showTask(task, lookOf(host.stdout, host.env)))
      return exitCodes.done
    }
    return withSource(configuration, reading, logOf(taskId, configuration.values.log))
  },
})
