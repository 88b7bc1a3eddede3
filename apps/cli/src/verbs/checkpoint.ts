import { defineVerb, exitCodes } from '@tenure/app-kit'
import { clientSettings, withClient } from '../coordinator/connection.js'
import { showCheckpoint } from '../show/checkpoint.js'
import { outputSettings, toJsonLine } from '../terminal/json.js'

export const checkpoint = defineVerb({
  summary:
    'Makes a checkpoint of the log now, so that a restart has little to replay. It takes a token with the role admin.',
  examples: [
    { line: 'tenure checkpoint', help: 'Before an upgrade. Coordinators make them by themselves.' },
  ],
  settings: { ...outputSettings, ...clientSettings },
  prepare(configuration) {
    const { json } = configuration.values
    return withClient(
      configuration,
      async (tenure, { stdout }) => {
        const made = await tenure.checkpoint()
        stdout.write(json ? toJsonLine(made) : showCheckpoint(made))
        return exitCodes.done
      },
      ['admin'],
    )
  },
})
