import { defineVerb, exitCodes } from '@tenure/app-kit'
import { sourceSettings, withSource } from '../../tasks/with-source.js'
import { displayOf } from '../../terminal/display.js'
import { outputSettings, toJsonLine } from '../../terminal/json.js'
import { showStats } from './show.js'

export const stats = defineVerb({
  summary: 'Show how many tasks and queues there are now, and how many events since the log began.',
  examples: [
    { line: 'tenure stats', help: 'Show all counts, and the waiting tasks by queue.' },
    { line: 'tenure stats --json | jq .tasks.waiting', help: 'Print one count for a script.' },
  ],
  settings: { ...outputSettings, ...sourceSettings },
  prepare(configuration) {
    const { json } = configuration.values
    return withSource(configuration, async (source, { stdout, env }) => {
      const stats = await source.stats()
      stdout.write(json ? toJsonLine(stats) : showStats(stats, displayOf(stdout, env)))
      return exitCodes.done
    })
  },
})
