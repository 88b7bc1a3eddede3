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
    'Submit a task, or one for each line of a file. Prints the task id once the task is on the disk of the coordinator.',
  examples: [
    {
      line: `tenure submit '{"to":"ada@example.org"}' --queue mail`,
      help: 'Submit a task to the queue mail.',
    },
    {
      line: 'tenure submit hello --delay 10m',
      help: 'Submit a task that runs in ten minutes at the earliest.',
    },
    {
      line: 'tenure submit --payload-file cat.png --queue images',
      help: 'Submit a binary payload.',
    },
    {
      line: 'tenure submit hello --wait-timeout 1m',
      help: 'Wait up to one minute for the task to end and show its result.',
    },
    {
      line: 'tenure submit --lines addresses.jsonl --queue mail --request-id-prefix spring',
      help: 'Submit a task for each line; running the command again submits nothing twice.',
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

function submitOneOf(values: Values): Action {
  const { requestId, wait, waitTimeout, json } = values
  if (values.requestIdPrefix !== undefined) {
    throw new ConfigError(
      `${flagOf('requestIdPrefix')} is only for ${flagOf('lines')}; use ${flagOf('requestId')} for a single task`,
    )
  }
  if (values.fromLine !== 1) {
    throw new ConfigError(
      `${flagOf('fromLine')} is only for ${flagOf('lines')}; set both or neither`,
    )
  }
  const readPayload = payloadOf(values)
  const options = { ...taskOptionsOf(values), requestId }
  return async (tenure, host) => {
    const submitted = await tenure.submit(readPayload(), options)
    host.stdout.write(json ? toJsonLine(submitted) : showSubmitted(submitted))
    if (!wait && waitTimeout === undefined) return exitCodes.done
    const action = awaitingEnds(tenure, waitTimeout, host)
    return forEachTask([submitted.taskId], action, host, json)
  }
}

function showSubmitted({ taskId, known }: Submitted): string {
  return known ? `task ${taskId}, already submitted\n` : `task ${taskId}\n`
}

interface Given {
  readonly payload: string | undefined
  readonly payloadFile: string | undefined
}

const standardInput = 0

/** Checks that there is exactly one payload. Reads it later, since standard input may take time. */
function payloadOf({ payload, payloadFile }: Given): () => Uint8Array {
  if ((payload === undefined) === (payloadFile === undefined)) {
    const what = `<payload> or ${flagOf('payloadFile')}`
    const why = payload === undefined ? `set ${what}` : `set either ${what}, not both`
    throw new ConfigError(`${why}. See tenure submit --help.`)
  }
  return () => (payloadFile === undefined ? Buffer.from(payload!) : readBytes(payloadFile))
}

function readBytes(path: string): Uint8Array {
  try {
    return readFileSync(path === '-' ? standardInput : path)
  } catch (cause) {
    const why = cause instanceof Error && 'code' in cause ? cause.code : cause
    const where = `cannot read ${path}, set by ${flagOf('payloadFile')}: ${why}; use a file that this user can read`
    throw new ConfigError(where, { cause })
  }
}
