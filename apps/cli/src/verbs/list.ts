import { choice, defineVerb, exitCodes, setting, text, whole } from '@tenure/app-kit'
import type { TaskSummary } from '@tenure/client'
import { outputSettings, toJsonLine } from '../output.js'
import { inPages } from '../pages.js'
import { showTable } from '../table.js'
import { showTime } from '../times.js'
import { clientSettings, withClient } from '../with-client.js'

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
    ...clientSettings,
  },
  prepare(configuration) {
    const { state, queue, from, limit, json } = configuration.values
    const which = { ...(state && { state }), ...(queue && { queue }), fromTaskId: from }
    // One more than is shown tells whether there are more.
    const options = { ...which, limit: Math.min(limit + 1, most) }
    return withClient(configuration, async (tenure, { stdout, stderr }) => {
      let count = 0
      for await (const page of inPages(tenure.list(options), rowsAtOnce)) {
        const shown = page.slice(0, limit - count)
        const isFirst = count === 0
        if (shown.length > 0) stdout.write(json ? toJsonLines(shown) : toTable(shown, isFirst))
        count += page.length
        if (count > limit) stderr.write(tellMore(page[shown.length]!))
      }
      if (count === 0) stderr.write('tenure: there are no such tasks\n')
      return exitCodes.done
    })
  },
})

function tellMore({ taskId }: TaskSummary): string {
  return `tenure: there are more: --from ${taskId}, or a larger --limit\n`
}

function toJsonLines(tasks: readonly TaskSummary[]): string {
  return tasks.map(toJsonLine).join('')
}

function toTable(tasks: readonly TaskSummary[], isFirst: boolean): string {
  return showTable([...(isFirst ? [heads] : []), ...tasks.map(toRow)])
}

const heads = ['task', 'state', 'queue', 'attempt', 'since', 'reason']

function toRow({ taskId, state, queue, attempt, stateSince, reason = '' }: TaskSummary): string[] {
  const [firstLine = ''] = reason.split('\n', 1)
  return [String(taskId), state, queue, String(attempt), showTime(stateSince), firstLine]
}
