import { defineVerb, duration, formatDuration, type Host } from '@tenure/app-kit'
import { type Task, type Tenure, TenureError } from '@tenure/client'
import { longestMs } from '@tenure/options'
import { exitCodes, flag } from '../command-line.js'
import { clientSettings, withClient } from '../coordinator/connection.js'
import { TaskError } from '../coordinator/errors.js'
import { forEachTask, type TaskAction } from '../tasks/each-task.js'
import { taskIdsSettings } from '../tasks/task-id.js'
import { outputSettings } from '../terminal/json.js'
import { showBytes } from '../terminal/text.js'
import { describeUnserved } from './why.js'

export const wait = defineVerb({
  summary:
    'Wait until tasks end, and show their outcomes. Exit code 1: a task did not complete; 3: timeout.',
  examples: [
    { line: 'tenure wait 17', help: 'Wait for task 17 without a timeout.' },
    {
      line: 'tenure wait 17 18 19 --timeout 5m',
      help: 'Wait for three tasks, at most five minutes in total.',
    },
  ],
  settings: {
    ...taskIdsSettings,
    Flags: {
      timeout: flag(duration(1, longestMs), {
        help: 'Maximum time to wait for all tasks together.',
      }),
    },
    ...outputSettings,
    ...clientSettings,
  },
  prepare(configuration) {
    const { taskId: taskIds, timeout, json } = configuration.values
    return withClient(configuration, (tenure, host) =>
      forEachTask(taskIds, awaitingEnds(tenure, timeout, host), host, json),
    )
  },
})

/** Waits for the end of each task. The timeout covers all of them, from now on. */
export function awaitingEnds(
  tenure: Tenure,
  timeoutMs: number | undefined,
  { stderr }: Pick<Host, 'stderr'>,
  now = () => performance.now(),
): TaskAction<Task> {
  const limitMs = timeoutMs ?? Number.POSITIVE_INFINITY
  const until = now() + limitMs
  return {
    act: async (taskId) => {
      const warning = await warningFor(tenure, taskId)
      if (warning !== undefined) stderr.write(`tenure: ${warning}\n`)
      try {
        return await tenure.waitFor(taskId, { timeoutMs: Math.max(1, until - now()) })
      } catch (error) {
        if (!isTimeout(error)) throw error
        return endedOr(await tenure.get(taskId), timeoutOf(taskId, limitMs))
      }
    },
    show: (_, task) => showEnd(task),
    isGood: ({ state }) => state === 'COMPLETED',
  }
}

function isTimeout(error: unknown): boolean {
  return error instanceof TenureError && error.code === 'CLIENT_TIMEOUT'
}

/** The task may have ended while the time was spent on an earlier one. */
function endedOr(task: Task, refusal: TaskError): Task {
  if (task.state === 'WAITING' || task.state === 'LEASED') throw refusal
  return task
}

function timeoutOf(taskId: number, timeoutMs: number): TaskError {
  const what = `it has not ended after ${formatDuration(timeoutMs)}`
  const hint = `tenure why ${taskId} shows why`
  return new TaskError('TIMEOUT', `${what}; ${hint}`, exitCodes.timeout)
}

async function warningFor(tenure: Tenure, taskId: number): Promise<string | undefined> {
  try {
    return describeUnserved(taskId, await tenure.why(taskId))
  } catch (error) {
    // The wait itself reports this error.
    if (error instanceof TenureError) return undefined
    throw error
  }
}

export function showEnd({ taskId, state, result, reason }: Task): string {
  const what = [
    ...(result === undefined ? [] : [showBytes(result)]),
    ...(reason === undefined || state === 'COMPLETED' ? [] : [reason]),
  ]
  return `task ${taskId} ${state}${what.length > 0 ? `: ${what.join('; ')}` : ''}`
}
