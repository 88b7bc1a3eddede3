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
import { plainTaskId } from '../tasks/task-id.js'
import { sourceSettings, withSource } from '../tasks/with-source.js'
import { type Display, displayOf } from '../terminal/display.js'
import { showSecond } from '../terminal/format.js'
import { outputSettings, toJsonLine } from '../terminal/json.js'
import { type Column, showColumns } from '../terminal/table.js'

const most = Number.MAX_SAFE_INTEGER
const states = ['WAITING', 'LEASED', 'COMPLETED', 'FAILED', 'DEAD'] as const
const usualLimit = 100
/** Rows that share their column widths; later ones may be wider. */
const rowsPerPage = 100

export const list = defineVerb({
  summary:
    'List tasks in the order of their ids. Ended tasks are listed until the coordinator forgets them.',
  examples: [
    { line: 'tenure list --state FAILED', help: 'List failed tasks with their reasons.' },
    { line: 'tenure list --state LEASED', help: 'List running tasks with their workers.' },
    {
      line: 'tenure list --queue mail --limit 10 --json',
      help: 'List the ten oldest tasks of a queue as JSON.',
    },
    {
      line: 'tenure list --state FAILED --all --json | jq .taskId',
      help: 'Print the ids of all failed tasks.',
    },
  ],
  settings: {
    Filters: {
      state: flag(choice(...states), { help: 'Only tasks in this state.' }),
      queue: flag(text('queue'), { help: 'Only tasks of this queue.' }),
      from: flag(plainTaskId(), { fallback: 1, help: 'First task id to list.' }),
      limit: flag(whole(1, most), {
        help: `Maximum number of tasks to list; ${usualLimit} unless --all is set.`,
      }),
      all: flag(yesOrNo(), {
        fallback: false,
        help: 'List all matching tasks.',
      }),
    },
    ...outputSettings,
    ...sourceSettings,
  },
  prepare(configuration) {
    const { state, queue, from, json } = configuration.values
    const limit = limitOf(configuration.values)
    const which = { state, queue, fromTaskId: from }
    // One more than shown, to know whether more tasks follow.
    const options = { ...which, limit: Math.min(limit + 1, most) }
    return withSource(configuration, async (source, { stdout, stderr, env }) => {
      const display = displayOf(stdout, env)
      let count = 0
      for await (const page of inPages(source.list(options), rowsPerPage)) {
        const shown = page.slice(0, limit - count)
        const heads = count === 0
        if (json) stdout.write(shown.map(toJsonLine).join(''))
        else if (shown.length > 0) stdout.write(showTasks(shown, display, { heads }))
        count += page.length
        if (count > limit) stderr.write(describeMore(page[shown.length]!))
      }
      if (count === 0) stderr.write('tenure: no tasks match\n')
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
  throw new ConfigError(
    `${flagOf('limit')} and ${flagOf('all')} are mutually exclusive; remove one of them`,
  )
}

function describeMore({ taskId }: TaskSummary): string {
  return `tenure: more tasks follow; use --from ${taskId}, a larger --limit, or --all\n`
}

export function showTasks(
  tasks: readonly TaskSummary[],
  display: Display,
  options: { heads: boolean },
): string {
  return showColumns(columns, tasks, display, options)
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
