import { defineVerb, exitCodes } from '@tenure/app-kit'
import { sourceSettings, withSource } from '../../tasks/with-source.js'
import { outputSettings, toJsonLine } from '../../terminal/json.js'
import { lookOf } from '../../terminal/look.js'
import { showStats } from './show.js'

export const stats = defineVerb({
  summary: 'Counts tasks, queues and what has happened to them since the log began.',
  examples: [
    { line: 'tenure stats', help: 'All counts, and what waits by queue.' },
    { line: 'tenure stats --json | jq .tasks.waiting', help: 'One of them, for a script.' },
  ],
  settings: { ...outputSettings, ...sourceSettings },
  prepare(configuration) {
    const { json } = configuration.values
    return withSource(configuration, async (source, { stdout, env }) => {
      const stats = await source.stats()
      stdout.write(json ? toJsonLine(stats) : showStats(stats, lookOf(stdout, env)))
      return exitCodes.done
    })
  },
})
