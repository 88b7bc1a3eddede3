import { defineVerb } from '@tenure/app-kit'
import { clientSettings, withClient } from '../../coordinator/connection.js'
import { submitOneOf } from '../../submit/one.js'
import { outputSettings } from '../../terminal/json.js'
import { submitLinesOf } from './lines.js'
import { submitSettings } from './settings.js'

export const submit = defineVerb({
  summary:
    'Submits a task, or one for each line. When it gives the id the task is on the disk of the coordinator.',
  examples: [
    {
      line: `tenure submit '{"to":"ada@example.org"}' --queue mail`,
      help: 'A task for the workers of the queue mail.',
    },
    { line: 'tenure submit hello --delay 10m', help: 'Not before ten minutes have passed.' },
    { line: 'tenure submit --payload-file cat.png --queue images', help: 'Bytes of any kind.' },
    {
      line: 'tenure submit hello --wait-timeout 1m',
      help: 'Waits for the end of the task and shows its result.',
    },
    {
      line: 'tenure submit --lines addresses.jsonl --queue mail --request-id-prefix spring',
      help: 'A task for each line, as fast as the coordinator takes them. Run again it submits none twice.',
    },
  ],
  settings: { ...submitSettings, ...outputSettings, ...clientSettings },
  prepare(configuration) {
    const { values } = configuration
    const action = values.lines === undefined ? submitOneOf(values) : submitLinesOf(values)
    return withClient(configuration, action)
  },
})
