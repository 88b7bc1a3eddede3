import { formatDuration, type Host } from '@tenure/app-kit'
import { type Task, type Tenure, TenureError } from '@tenure/client'
import { exitCodes } from './command-line.js'
import { Refusal } from './coordinator/refusals.js'
import { showEnd } from './show/end.js'
import { tellUnserved } from './show/why.js'
import type { Deed } from './tasks/each-task.js'

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
