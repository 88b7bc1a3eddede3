import { defineVerb, exitCodes } from '@tenure/app-kit'
import type { CheckpointInfo } from '@tenure/client'
import { clientSettings, withClient } from '../coordinator/connection.js'
import { countOf, showDuration, showSize } from '../terminal/format.js'
import { outputSettings, toJsonLine } from '../terminal/json.js'

export const checkpoint = defineVerb({
  summary:
    'Make a checkpoint of the log now, which shortens the next restart. If the coordinator uses tokens, this needs one with the role admin.',
  examples: [
    { line: 'tenure checkpoint', help: 'Make a checkpoint, for example before an upgrade.' },
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

export function showCheckpoint({ lsn, tasks, removed, ...took }: CheckpointInfo): string {
  if (lsn === 0) return 'No checkpoint made: the log is empty.\n'
  if (tasks === undefined)
    return `No checkpoint made: there are no records after the one at LSN ${lsn}.\n`
  const { segments, bytes } = removed
  const span = showDuration(took.replayMs + took.writeMs)
  const gone =
    segments === 0 ? '' : ` Removed ${countOf(segments, 'log file')} (${showSize(bytes)}).`
  return `Made a checkpoint of ${countOf(tasks, 'task')} at LSN ${lsn} in ${span}.${gone}\n`
}
