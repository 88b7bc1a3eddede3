import { defineVerb, exitCodes, setting, yesOrNo } from '@tenure/app-kit'
import { outputSettings, toJsonLine } from '../show/json.js'
import { lookOf } from '../show/look.js'
import { showTask } from '../show/task.js'
import { taskIdSettings } from '../task-id.js'
import { sourceSettings, withSource } from '../with-source.js'
import { writeResult } from '../write-result.js'

export const get = defineVerb({
  summary: 'Shows a task, with its attempts and its result.',
  examples: [
    { line: 'tenure get 17', help: 'Task 17.' },
    { line: 'tenure get 17 --result > cat.png', help: 'Its result alone, byte by byte.' },
    { line: "tenure get 17 --json | jq -r '.attempts[].workerId'", help: 'Who has had it.' },
  ],
  settings: {
    ...taskIdSettings,
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
    return withSource(configuration, async (source, host) => {
      const task = await source.get(taskId)
      if (result) return writeResult(task, host)
      host.stdout.write(json ? toJsonLine(task) : showTask(task, lookOf(host.stdout, host.env)))
      return exitCodes.done
    })
  },
})
