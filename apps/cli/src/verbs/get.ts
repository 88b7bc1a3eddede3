import { argument, defineVerb, exitCodes, type Host, yesOrNo } from '@tenure/app-kit'
import type { Attempt, Task } from '@tenure/client'
import { flag } from '../command-line.js'
import { withTaskId } from '../coordinator/errors.js'
import { stateCell, styleOfState } from '../tasks/states.js'
import { logOf, namedTask } from '../tasks/task-id.js'
import { type SourceAction, sourceSettings, withSource } from '../tasks/with-source.js'
import { type Display, displayOf } from '../terminal/display.js'
import { showDuration, showTime } from '../terminal/format.js'
import { outputSettings, toJsonLine } from '../terminal/json.js'
import { type Column, showColumns, showFacts } from '../terminal/table.js'
import { showBytes } from '../terminal/text.js'

export const get = defineVerb({
  summary: 'Show a task with its attempts and its result.',
  examples: [
    { line: 'tenure get 17', help: 'Show task 17.' },
    { line: 'tenure get 17 --result > cat.png', help: 'Write only the bytes of its result.' },
    {
      line: "tenure get 17 --json | jq -r '.attempts[].workerId'",
      help: 'List the workers that it was leased to.',
    },
    {
      line: 'tenure get tenure-data#17 --at -1h',
      help: 'Show task 17 of a log as it was one hour before the last record.',
    },
  ],
  settings: {
    Arguments: {
      taskId: argument(namedTask(), {
        help: 'Task id, or <directory>#<id> for a task in a log.',
      }),
    },
    Output: {
      result: flag(yesOrNo(), {
        fallback: false,
        help: 'Write only the bytes of the result; exit code 1 if there is none.',
      }),
      ...outputSettings.Output,
    },
    ...sourceSettings,
  },
  prepare(configuration) {
    const { taskId, json, result } = configuration.values
    const action: SourceAction = async (source, host) => {
      const task = await withTaskId(taskId.taskId, source.get(taskId.taskId))
      if (result) return writeResult(task, host)
      host.stdout.write(json ? toJsonLine(task) : showTask(task, displayOf(host.stdout, host.env)))
      return exitCodes.done
    }
    return withSource(configuration, action, logOf(taskId, configuration.values.log))
  },
})

/** The facts of a task, then its attempts. */
export function showTask(task: Task, display: Display): string {
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
    display,
  )
  return attempts.length === 0 ? facts : `${facts}\n${showColumns(columns, attempts, display)}`
}

const columns: readonly Column<Attempt>[] = [
  { head: 'attempt', right: true, of: ({ attempt }) => String(attempt) },
  { head: 'lease', right: true, of: ({ leaseId }) => String(leaseId) },
  { head: 'worker', cut: true, of: ({ workerId }) => workerId },
  { head: 'granted', of: ({ grantedAt }) => showTime(grantedAt) },
  {
    head: 'took',
    right: true,
    of: ({ grantedAt, endedAt }) =>
      endedAt === undefined ? '' : showDuration(endedAt - grantedAt),
  },
  {
    head: 'outcome',
    of: ({ outcome, cancelled }) => ({
      text: cancelled ? `${outcome}, report CANCELLED` : outcome,
      style: styleOfState[outcome],
    }),
  },
]

/** Writes the bytes unchanged, for a pipe. */
function writeResult({ taskId, state, result }: Task, { stdout, stderr }: Host): number {
  if (result === undefined) {
    stderr.write(`tenure: task ${taskId} has no result: ${reasons[state]}\n`)
    return exitCodes.failed
  }
  stdout.write(result)
  return exitCodes.done
}

const reasons: Readonly<Record<Task['state'], string>> = {
  WAITING: 'it has not ended yet; tenure wait waits for its end',
  LEASED: 'it has not ended yet; tenure wait waits for its end',
  COMPLETED: 'its handler returned none',
  FAILED: 'it failed; tenure get without --result shows why',
  DEAD: 'it was stopped; tenure get without --result shows why',
}
