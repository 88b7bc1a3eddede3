import { defineVerb, exitCodes } from '@tenure/app-kit'
import type { CheckpointInfo } from '@tenure/client'
import { clientSettings, withClient } from '../coordinator/connection.js'
import { countOf, showSize, showSpan } from '../terminal/figures.js'
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

/** In a sentence or two. */
export function showCheckpoint({ lsn, tasks, removed, ...took }: CheckpointInfo): string {
  if (lsn === 0) return 'The log is empty: there is nothing to make a checkpoint of.\n'
  if (tasks === undefined) return `Nothing has happened since the checkpoint at LSN ${lsn}.\n`
  const { segments, bytes } = removed
  const span = showSpan(took.replayMs + took.writeMs)
  const gone =
    segments === 0 ? '' : ` ${countOf(segments, 'file')} of the log removed (${showSize(bytes)}).`
  return `A checkpoint of ${countOf(tasks, 'task')} at LSN ${lsn}, made in ${span}.${gone}\n`
}
