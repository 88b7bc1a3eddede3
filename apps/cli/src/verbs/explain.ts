import { defineVerb, exitCodes } from '@tenure/app-kit'
import { outputSettings, toJsonLine } from '../show/json.js'
import { showStory, tellStory } from '../story.js'
import { taskIdSettings } from '../task-id.js'
import { clientSettings, withClient } from '../with-client.js'

export const explain = defineVerb({
  summary:
    'Tells the story of a task, from the attempts that it keeps: why it ran more than once, if it did.',
  examples: [{ line: 'tenure explain 17', help: 'What became of task 17, and why.' }],
  settings: { ...taskIdSettings, ...outputSettings, ...clientSettings },
  prepare(configuration) {
    const { taskId, json } = configuration.values
    return withClient(configuration, async (tenure, { stdout }) => {
      const story = tellStory(await tenure.get(taskId))
      stdout.write(json ? toJsonLine(story) : showStory(story))
      return exitCodes.done
    })
  },
})
