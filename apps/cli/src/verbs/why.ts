import { defineVerb } from '@tenure/app-kit'
import { aboutTask } from '../about-task.js'
import { exitCodes } from '../command-line.js'
import { clientSettings, withClient } from '../coordinator/connection.js'
import { answerWhy, showWhy } from '../show/why.js'
import { taskIdSettings } from '../task-id.js'
import { outputSettings, toJsonLine } from '../terminal/json.js'
import { lookOf } from '../terminal/look.js'

export const why = defineVerb({
  summary: 'Tells why a task is not running now, in a sentence and with the facts behind it.',
  examples: [
    {
      line: 'tenure why 17',
      help: 'What task 17 waits for; or who runs it, or that it has ended.',
    },
  ],
  settings: { ...taskIdSettings, ...outputSettings, ...clientSettings },
  prepare(configuration) {
    const { taskId, json } = configuration.values
    return withClient(configuration, async (tenure, { stdout, env }) => {
      const why = await aboutTask(taskId, tenure.why(taskId))
      const answer = answerWhy(taskId, why)
      const look = lookOf(stdout, env)
      stdout.write(json ? toJsonLine({ taskId, answer, ...why }) : showWhy(taskId, why, look))
      return exitCodes.done
    })
  },
})
