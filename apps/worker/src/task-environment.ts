import { byName, variableOf } from '@tenure/app-kit'
import type { Work } from '@tenure/worker-runtime'
import { settings } from './settings.js'

/** What the worker is let in with is not for the commands that it runs. */
const secrets = [...byName(settings)]
  .filter(([, { kind, sources = kind.sources }]) => sources?.join() === 'environment')
  .map(([name]) => variableOf(name))

/** The worker's own environment without its secrets, and what there is to know about the task. */
export function environmentOf(
  { taskId, queue, attempt, leaseId, deadline }: Work,
  own: NodeJS.ProcessEnv,
): NodeJS.ProcessEnv {
  return {
    ...Object.fromEntries(Object.entries(own).filter(([name]) => !secrets.includes(name))),
    TENURE_TASK_ID: String(taskId),
    TENURE_TASK_QUEUE: queue,
    TENURE_TASK_ATTEMPT: String(attempt),
    TENURE_TASK_LEASE_ID: String(leaseId),
    TENURE_TASK_DEADLINE: String(deadline),
  }
}
