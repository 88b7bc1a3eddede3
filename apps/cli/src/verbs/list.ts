import {
  choice,
  connectionSettings,
  defineVerb,
  exitCodes,
  setting,
  text,
  whole,
} from '@tenure/app-kit'
import type { TaskSummary } from '@tenure/client'
import { outputSettings, toJsonLine } from '../output.js'
import { showTable } from '../table.js'
import { showTime } from '../times.js'
import { withClient } from '../with-client.js'

const most = Number.MAX_SAFE_INTEGER
const states = ['WAITING', 'LEASED', 'COMPLETED', 'FAILED', 'DEAD'] as const
/** So many are laid out together; what comes later may be wider. */
const rowsAtOnce = 100

export const list = defineVerb({
  summary: 'Lists tasks in the order of their ids. Ended ones are remembered for a while.',
  examples: [
    { line: 'tenure list --state FAILED', help: 'What failed, with the reason.' },
    {
      line: 'tenure list --queue mail --limit 10 --json',
      help: 'The ten oldest of a queue, for a program.',
    },
  ],
  settings: {
    Which: {
      state: setting(choice(...states), { help: 'Only those in this state.', sources: ['flag'] }),
      queue: setting(text('queue'), { help: 'Only those of this queue.', sources: ['flag'] }),
      from: setting(whole(1, most), { fallback: 1, help: 'From this id on.', sources: ['flag'] }),
      limit: setting(whole(1, most), {
        fallback: 100,
        help: 'How many at most.',
        sources: ['flag'],
      }),
    },
    ...outputSettings,
    ...connectionSettings,
  },
  prepare(configuration) {
    const { state, queue, from, limit, json } = configuration.values
    const which = { ...(state && { state }), ...(queue && { queue }), fromTaskId: from, limit }
    return withClient(configuration, async (tenure, { stdout }) => {
      let rows: string[][] = [heads]
      for await (const task of tenure.list(which)) {
        if (json) stdout.write(toJsonLine(task))
        else rows.push(toRow(task))
        if (rows.length < rowsAtOnce) continue
        stdout.write(showTable(rows))
        rows = []
      }
      if (!json) stdout.write(showTable(rows))
      return exitCodes.done
    })
  },
})

const heads = ['task', 'state', 'queue', 'attempt', 'since', 'reason']

function toRow({ taskId, state, queue, attempt, stateSince, reason = '' }: TaskSummary): string[] {
  const [firstLine = ''] = reason.split('\n', 1)
  return [String(taskId), state, queue, String(attempt), showTime(stateSince), firstLine]
}
