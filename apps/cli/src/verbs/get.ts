import { argument, defineVerb, exitCodes, type Host, yesOrNo } from '@tenure/app-kit'
import type { Attempt, Task } from '@tenure/client'
import { flag } from '../command-line.js'
import { aboutTask } from '../coordinator/refusals.js'
import { stateCell, styleOfState } from '../tasks/states.js'
import { logOf, namedTask } from '../tasks/task-id.js'
import { type Reading, sourceSettings, withSource } from '../tasks/with-source.js'
import { showSpan, showTime } from '../terminal/figures.js'
import { outputSettings, toJsonLine } from '../terminal/json.js'
import { type Look, lookOf } from '../terminal/look.js'
import { type Column, showColumns, showFacts } from '../terminal/table.js'
import { showBytes } from '../terminal/text.js'

export const get = defineVerb({
  summary: 'Shows a task, with its attempts and its result.',
  examples: [
    { line: 'tenure get 17', help: 'Task 17.' },
    { line: 'tenure get 17 --result > cat.png', help: 'Its result alone, byte by byte.' },
    { line: "tenure get 17 --json | jq -r '.attempts[].workerId'", help: 'Who has had it.' },
    {
      line: 'tenure get tenure-data#17 --at -1h',
      help: 'As it was an hour before the end of that log.',
    },
  ],
  settings: {
    Which: {
      taskId: argument(namedTask(), {
        help: 'The id of the task; behind a directory and #, one in its log.',
      }),
    },
    What: {
      result: flag(yesOrNo(), {
        fallback: false,
        help: 'Writes the bytes of the result and nothing else. Exit code 1 where there is none.',
      }),
    },
    ...outputSettings,
    ...sourceSettings,
  },
  prepare(configuration) {
    const { taskId, json, result } = configuration.values
    const reading: Reading = async (source, host) => {
      const task = await aboutTask(taskId.taskId, source.get(taskId.taskId))
      if (result) return writeResult(task, host)
      host.stdout.write(json ? toJsonLine(task) : showTask(task, lookOf(host.stdout, host.env)))
      return exitCodes.done
    }
    return withSource(configuration, reading, logOf(taskId, configuration.values.log))
  },
})

/** A task by itself: what it is, and below that its attempts. */
export function showTask(task: Task, look: Look): string {
  const { attempts, reason, requestId, payload, result, eligibleAt, leaseExpiry } = task
  const facts = showFacts(
    [
      ['task', String(task.taskId)],
      ['state', stateCell(task.state, ` since ${showTime(task.stateSince)}`)],
      ['queue', task.queue],
      ['request', requestId],
      ['created', showTime(task.createdAt)],
      ['eligible', eligibleAt === undefined ? undefined : showTime(eligibleAt)],
      ['lease expires', leaseExpiry === undefined ? undefined : showTime(leaseExpiry)],
      ['reason', reason],
      ['payload', payload && showBytes(payload)],
      ['result', result && showBytes(result)],
    ],
    look,
  )
  return attempts.length === 0 ? facts : `${facts}\n${showColumns(columns, attempts, look)}`
}

const columns: readonly Column<Attempt>[] = [
  { head: 'attempt', right: true, of: ({ attempt }) => String(attempt) },
  { head: 'lease', right: true, of: ({ leaseId }) => String(leaseId) },
  { head: 'worker', cut: true, of: ({ workerId }) => workerId },
  { head: 'granted', of: ({ grantedAt }) => showTime(grantedAt) },
  {
    head: 'took',
    right: true,
    of: ({ grantedAt, endedAt }) => (endedAt === undefined ? '' : showSpan(endedAt - grantedAt)),
  },
  {
    head: 'outcome',
    of: ({ outcome, cancelled }) => ({
      text: cancelled ? `${outcome}, report CANCELLED` : outcome,
      style: styleOfState[outcome],
    }),
  },
]

/** The bytes that the handler gave, as they are, for the next program in the pipe. */
function writeResult({ taskId, state, result }: Task, { stdout, stderr }: Host): number {
  if (result === undefined) {
    stderr.write(`tenure: task ${taskId} has no result: ${reasons[state]}\n`)
    return exitCodes.failed
  }
  stdout.write(result)
  return exitCodes.done
}

const reasons: Readonly<Record<Task['state'], string>> = {
  WAITING: 'it has not run to its end yet. tenure wait waits for it',
  LEASED: 'it has not run to its end yet. tenure wait waits for it',
  COMPLETED: 'its handler gave none',
  FAILED: 'it failed. tenure get says why',
  DEAD: 'it was stopped. tenure get says why',
}
