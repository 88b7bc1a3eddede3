import { ConfigError, flagOf, type ValuesOf } from '@tenure/app-kit'
import type { Submitted } from '@tenure/client'
import { awaitingEnds } from '../await-end.js'
import { exitCodes } from '../command-line.js'
import type { Action } from '../coordinator/connection.js'
import { forEachTask } from '../tasks/each-task.js'
import { toJsonLine } from '../terminal/json.js'
import { type submitSettings, taskOptionsOf } from '../verbs/submit/settings.js'
import { payloadOf } from './payload.js'

type Values = ValuesOf<typeof submitSettings> & { readonly json: boolean }

/** One task, and the wait for its end where that is wanted. */
export function submitOneOf(values: Values): Action {
  const { requestId, wait, waitTimeout, json } = values
  if (values.requestIdPrefix !== undefined || values.fromLine !== 1) {
    throw new ConfigError(
      `${flagOf('requestIdPrefix')} and ${flagOf('fromLine')} are for ${flagOf('lines')}; a task by itself has ${flagOf('requestId')}`,
    )
  }
  const readPayload = payloadOf(values)
  const options = { ...taskOptionsOf(values), ...(requestId !== undefined && { requestId }) }
  return async (tenure, host) => {
    const submitted = await tenure.submit(readPayload(), options)
    host.stdout.write(json ? toJsonLine(submitted) : showSubmitted(submitted))
    if (!wait && waitTimeout === undefined) return exitCodes.done
    const deed = awaitingEnds(tenure, waitTimeout, host)
    return forEachTask([submitted.taskId], deed, host, json)
  }
}

function showSubmitted({ taskId, known }: Submitted): string {
  return known ? `task ${taskId}, submitted before\n` : `task ${taskId}\n`
}
