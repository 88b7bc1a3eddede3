import { defineVerb, duration, formatDuration, type Host } from '@tenure/app-kit'
import { type Task, type Tenure, TenureError } from '@tenure/client'
import { longestMs } from '@tenure/options'
import { exitCodes, flag } from '../command-line.js'
import { clientSettings, withClient } from '../coordinator/connection.js'
import { Refusal } from '../coordinator/refusals.js'
import { type Deed, forEachTask } from '../tasks/each-task.js'
import { taskIdsSettings } from '../tasks/task-id.js'
import { outputSettings } from '../terminal/json.js'
import { showBytes } from '../terminal/text.js'
import { tellUnserved } from './why.js'

export const wait = defineVerb({
  summary:
    'Waits until tasks have ended, and shows how. Exit code 1 if one did not complete, 3 if the time was over.',
  examples: [
    { line: 'tenure wait 17', help: 'For as long as it takes.' },
    { line: 'tenure wait 17 18 19 --timeout 5m', help: 'For all of them, five minutes at most.' },
  ],
  settings: {
    ...taskIdsSettings,
    How: {
      timeout: flag(duration(1, longestMs), { help: 'No longer than that, for all together.' }),
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

/** Waits for the end of each, from now on; the time is for all together. */
export function awaitingEnds(
  tenure: Tenure,
  timeoutMs: number | undefined,
  { stderr }: Pick<Host, 'stderr'>,
  now = () => performance.now(),
): Deed<Task> {
  const limitMs = timeoutMs ?? Number.POSITIVE_INFINITY
  const until = now() + limitMs
  return {
    act: async (taskId) => {
      const warning = await warningFor(tenure, taskId)
      if (warning !== undefined) stderr.write(`tenure: ${warning}\n`)
      try {
        return await tenure.waitFor(taskId, { timeoutMs: Math.max(1, until - now()) })
      } catch (error) {
        if (!isTimeOver(error)) throw error
        return endedOr(await tenure.get(taskId), timeIsOver(taskId, limitMs))
      }
    },
    show: (_, task) => showEnd(task),
    isGood: ({ state }) => state === 'COMPLETED',
  }
}

function isTimeOver(error: unknown): boolean {
  return error instanceof TenureError && error.code === 'CLIENT_TIMEOUT'
}

/** The time may have been used up by a task before this one. */
function endedOr(task: Task, refusal: Refusal): Task {
  if (task.state === 'WAITING' || task.state === 'LEASED') throw refusal
  return task
}

function timeIsOver(taskId: number, timeoutMs: number): Refusal {
  const what = `it has not ended within ${formatDuration(timeoutMs)}`
  const hint = `tenure why ${taskId} tells what it waits for`
  return new Refusal('TIME_IS_OVER', `${what}: ${hint}`, exitCodes.timeIsOver)
}

async function warningFor(tenure: Tenure, taskId: number): Promise<string | undefined> {
  try {
    return tellUnserved(taskId, await tenure.why(taskId))
  } catch (error) {
    // What is wrong with the task will be said of the wait itself.
    if (error instanceof TenureError) return undefined
    throw error
  }
}

/** How a task ended, in a line. */
export function showEnd({ taskId, state, result, reason }: Task): string {
  const what = [
    ...(result === undefined ? [] : [showBytes(result)]),
    ...(reason === undefined || state === 'COMPLETED' ? [] : [reason]),
  ]
  return `task ${taskId} ${state}${what.length > 0 ? `: ${what.join('; ')}` : ''}`
}
