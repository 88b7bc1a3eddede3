import { readFileSync } from 'node:fs'
import { ConfigError, defineVerb, flagOf, type ValuesOf } from '@tenure/app-kit'
import type { Submitted } from '@tenure/client'
import { exitCodes } from '../../command-line.js'
import { type Action, clientSettings, withClient } from '../../coordinator/connection.js'
import { forEachTask } from '../../tasks/each-task.js'
import { outputSettings, toJsonLine } from '../../terminal/json.js'
import { awaitingEnds } from '../wait.js'
import { submitLinesOf } from './lines.js'
import { submitSettings, taskOptionsOf } from './settings.js'

export const submit = defineVerb({
  summary:
    'Submits a task, or one for each line. When it gives the id the task is on the disk of the coordinator.',
  examples: [
    {
      line: `tenure submit '{"to":"ada@example.org"}' --queue mail`,
      help: 'A task for the workers of the queue mail.',
    },
    { line: 'tenure submit hello --delay 10m', help: 'Not before ten minutes have passed.' },
    { line: 'tenure submit --payload-file cat.png --queue images', help: 'Bytes of any kind.' },
    {
      line: 'tenure submit hello --wait-timeout 1m',
      help: 'Waits for the end of the task and shows its result.',
    },
    {
      line: 'tenure submit --lines addresses.jsonl --queue mail --request-id-prefix spring',
      help: 'A task for each line, as fast as the coordinator takes them. Run again it submits none twice.',
    },
  ],
  settings: { ...submitSettings, ...outputSettings, ...clientSettings },
  prepare(configuration) {
    const { values } = configuration
    const action = values.lines === undefined ? submitOneOf(values) : submitLinesOf(values)
    return withClient(configuration, action)
  },
})

type Values = ValuesOf<typeof submitSettings> & { readonly json: boolean }

/** One task, and the wait for its end where that is wanted. */
function submitOneOf(values: Values): Action {
  const { requestId, wait, waitTimeout, json } = values
  if (values.requestIdPrefix !== undefined || values.fromLine !== 1) {
    throw new ConfigError(
      `${flagOf('requestIdPrefix')} and ${flagOf('fromLine')} are for ${flagOf('lines')}; a task by itself has ${flagOf('requestId')}`,
    )
  }
  const readPayload = payloadOf(values)
  const options = { ...taskOptionsOf(values), requestId }
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

interface Given {
  readonly payload: string | undefined
  readonly payloadFile: string | undefined
}

const standardInput = 0

/** Checks that there is one payload, which is read when it is needed: the standard input may take its time. */
function payloadOf({ payload, payloadFile }: Given): () => Uint8Array {
  if ((payload === undefined) === (payloadFile === undefined)) {
    const which = payload === undefined ? 'neither is there' : 'both are there'
    throw new ConfigError(
      `either <payload> or ${flagOf('payloadFile')} says what is submitted; ${which}. See tenure submit --help.`,
    )
  }
  return () => (payloadFile === undefined ? Buffer.from(payload!) : readBytes(payloadFile))
}

function readBytes(path: string): Uint8Array {
  try {
    return readFileSync(path === '-' ? standardInput : path)
  } catch (cause) {
    const why = cause instanceof Error && 'code' in cause ? cause.code : cause
    const where = `${flagOf('payloadFile')} names ${path}, which cannot be read: ${why}`
    throw new ConfigError(where, { cause })
  }
}
