import { argument, defineVerb, duration, exitCodes, setting, text, yesOrNo } from '@tenure/app-kit'
import type { Task } from '@tenure/client'
import { payloadOf } from '../payload.js'
import { showBytes } from '../show/bytes.js'
import { outputSettings, toJsonLine } from '../show/json.js'
import { printable } from '../show/printable.js'
import { clientSettings, withClient } from '../with-client.js'

const longestMs = 2 ** 45

export const submit = defineVerb({
  summary: 'Submits a task. When it gives the id the task is on the disk of the coordinator.',
  examples: [
    {
      line: `tenure submit '{"to":"ada@example.org"}' --queue mail`,
      help: 'A task for the workers of the queue mail.',
    },
    { line: 'tenure submit hello --delay 10m', help: 'Not before ten minutes have passed.' },
    {
      line: 'tenure submit --payload-file cat.png --queue images',
      help: 'Bytes of any kind.',
    },
    {
      line: 'tenure submit hello --wait-timeout 1m',
      help: 'Waits for the end of the task and shows its result.',
    },
  ],
  settings: {
    What: {
      payload: argument(text('payload'), {
        required: false,
        help: 'What the handler gets, as it is.',
      }),
      payloadFile: setting(text('file'), {
        help: 'In its place: a file with these bytes; - is the standard input.',
        sources: ['flag'],
      }),
      queue: setting(text('queue'), {
        fallback: 'default',
        help: 'Whose workers run it.',
        sources: ['flag'],
      }),
      delay: setting(duration(1, longestMs), {
        help: 'Not before so much time has passed.',
        sources: ['flag'],
      }),
      requestId: setting(text('id'), {
        help: 'The same id with the same task is the same task, however often it is submitted.',
        sources: ['flag'],
      }),
      executionWindow: setting(duration(1, longestMs), {
        help: 'How long one attempt may take in all.',
        sources: ['flag'],
      }),
      wait: setting(yesOrNo(), {
        fallback: false,
        help: 'Waits until the task has ended. Exit code 1 if it did not complete.',
        sources: ['flag'],
      }),
      waitTimeout: setting(duration(1, longestMs), {
        help: 'Waits, but no longer than that.',
        sources: ['flag'],
      }),
    },
    ...outputSettings,
    ...clientSettings,
  },
  prepare(configuration) {
    const { queue, delay, requestId, executionWindow, wait, waitTimeout, json } =
      configuration.values
    const readPayload = payloadOf(configuration.values)
    return withClient(configuration, async (tenure, { stdout }) => {
      const submitted = await tenure.submit(readPayload(), {
        queue,
        ...(delay !== undefined && { delayMs: delay }),
        ...(requestId !== undefined && { requestId }),
        ...(executionWindow !== undefined && { executionWindowMs: executionWindow }),
      })
      stdout.write(json ? toJsonLine(submitted) : showSubmitted(submitted))
      if (!wait && waitTimeout === undefined) return exitCodes.done
      const task = await tenure.waitFor(submitted.taskId, { timeoutMs: waitTimeout })
      stdout.write(json ? toJsonLine(task) : showEnd(task))
      return task.state === 'COMPLETED' ? exitCodes.done : exitCodes.failed
    })
  },
})

function showSubmitted({ taskId, known }: { taskId: number; known: boolean }): string {
  return known ? `task ${taskId}, submitted before\n` : `task ${taskId}\n`
}

function showEnd({ taskId, state, result, reason }: Task): string {
  const what = [
    ...(result === undefined ? [] : [showBytes(result)]),
    ...(reason === undefined || state === 'COMPLETED' ? [] : [reason]),
  ]
  return `${printable(`task ${taskId} ${state}${what.length > 0 ? `: ${what.join('; ')}` : ''}`)}\n`
}
