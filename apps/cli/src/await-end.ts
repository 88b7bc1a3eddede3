import { formatDuration, type Host } from '@tenure/app-kit'
import { type Task, type Tenure, TenureError } from '@tenure/client'
import { type Deed, Refusal } from './each-task.js'
import { exitCodes } from './exit-codes.js'
import { showEnd } from './show/end.js'
import { tellUnserved } from './show/why.js'

/** Waits for the end of each, from now on; the time is for all together. */
export function awaitingEnds(
  tenure: Tenure,
  timeoutMs: number | undefined,
  { stderr }: Host,
): Deed<Task> {
  const signal = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs)
  return {
    act: async (taskId) => {
      const warning = await warningFor(tenure, taskId)
      if (warning !== undefined) stderr.write(`tenure: ${warning}\n`)
      try {
        return await tenure.waitFor(taskId, { signal })
      } catch (error) {
        if (signal?.aborted !== true) throw error
        return endedOr(await tenure.get(taskId), timeIsOver(taskId, timeoutMs ?? 0))
      }
    },
    show: (_, task) => showEnd(task),
    isGood: ({ state }) => state === 'COMPLETED',
  }
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
