import {
  ConfigError,
  choice,
  defineVerb,
  exitCodes,
  flagOf,
  text,
  whole,
  yesOrNo,
} from '@tenure/app-kit'
import type { TaskSummary } from '@tenure/client'
import { flag } from '../command-line.js'
import { stateCell } from '../tasks/states.js'
import { sourceSettings, withSource } from '../tasks/with-source.js'
import { showSecond } from '../terminal/figures.js'
import { outputSettings, toJsonLine } from '../terminal/json.js'
import { type Look, lookOf } from '../terminal/look.js'
import { type Column, showColumns } from '../terminal/table.js'

const most = Number.MAX_SAFE_INTEGER
const states = ['WAITING', 'LEASED', 'COMPLETED', 'FAILED', 'DEAD'] as const
const usualLimit = 100
/** So many are laid out together; what comes later may be wider. */
const rowsAtOnce = 100

export const list = defineVerb({
  summary: 'Lists tasks in the order of their ids. Ended ones are remembered for a while.',
  examples: [
    { line: 'tenure list --state FAILED', help: 'What failed, with the reason.' },
    { line: 'tenure list --state LEASED', help: 'What runs now, and where.' },
    {
      line: 'tenure list --queue mail --limit 10 --json',
      help: 'The ten oldest of a queue, for a program.',
    },
    {
      line: 'tenure list --state FAILED --all --json | jq .taskId',
      help: 'The ids of all that have failed, however many.',
    },
  ],
  settings: {
    Which: {
      state: flag(choice(...states), { help: 'Only those in this state.' }),
      queue: flag(text('queue'), { help: 'Only those of this queue.' }),
      from: flag(whole(1, most), { fallback: 1, help: 'From this id on.' }),
      limit: flag(whole(1, most), {
        help: `How many at most. Where neither this nor --all is given, ${usualLimit}.`,
      }),
      all: flag(yesOrNo(), {
        fallback: false,
        help: 'As many as there are, read page by page.',
      }),
    },
    ...outputSettings,
    ...sourceSettings,
  },
  prepare(configuration) {
    const { state, queue, from, json } = configuration.values
    const limit = limitOf(configuration.values)
    const which = { state, queue, fromTaskId: from }
    // One more than is shown tells whether there are more.
    const options = { ...which, limit: Math.min(limit + 1, most) }
    return withSource(configuration, async (source, { stdout, stderr, env }) => {
      const look = lookOf(stdout, env)
      let count = 0
      for await (const page of inPages(source.list(options), rowsAtOnce)) {
        const shown = page.slice(0, limit - count)
        const heads = count === 0
        if (json) stdout.write(shown.map(toJsonLine).join(''))
        else if (shown.length > 0) stdout.write(showTasks(shown, look, { heads }))
        count += page.length
        if (count > limit) stderr.write(tellMore(page[shown.length]!))
      }
      if (count === 0) stderr.write('tenure: there are no such tasks\n')
      return exitCodes.done
    })
  },
})

interface HowMany {
  readonly limit: number | undefined
  readonly all: boolean
}

function limitOf({ limit, all }: HowMany): number {
  if (!all) return limit ?? usualLimit
  if (limit === undefined) return most
  throw new ConfigError(`${flagOf('limit')} and ${flagOf('all')} contradict each other`)
}

function tellMore({ taskId }: TaskSummary): string {
  return `tenure: there are more: --from ${taskId}, a larger --limit, or --all\n`
}

/** Many tasks, one in a line. */
export function showTasks(
  tasks: readonly TaskSummary[],
  look: Look,
  options: { heads: boolean },
): string {
  return showColumns(columns, tasks, look, options)
}

const columns: readonly Column<TaskSummary>[] = [
  { head: 'task', right: true, of: ({ taskId }) => String(taskId) },
  { head: 'state', of: ({ state }) => stateCell(state) },
  { head: 'queue', cut: true, of: ({ queue }) => queue },
  { head: 'attempt', right: true, of: ({ attempt }) => String(attempt) },
  { head: 'since', of: ({ stateSince }) => showSecond(stateSince) },
  { head: 'worker', cut: true, of: ({ workerId = '' }) => workerId },
  { head: 'reason', cut: true, of: ({ reason = '' }) => reason.split('\n', 1).join('') },
]

/** So many at a time; the last page may have fewer. */
async function* inPages<T>(items: AsyncIterable<T>, size: number): AsyncGenerator<T[]> {
  let page: T[] = []
  for await (const item of items) {
    page.push(item)
    if (page.length < size) continue
    yield page
    page = []
  }
  if (page.length > 0) yield page
}
