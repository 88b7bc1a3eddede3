import {
  argument,
  ConfigError,
  defineVerb,
  flagOf,
  type Host,
  printable,
  text,
  yesOrNo,
} from '@tenure/app-kit'
import { RejectedError, type Tenure } from '@tenure/client'
import type { Explanation } from '@tenure/history'
import { exitCodes, flag } from '../../command-line.js'
import { clientSettings, withClient } from '../../coordinator/connection.js'
import { withoutFullStop, withTaskId } from '../../coordinator/errors.js'
import { warnOfUnreadable } from '../../log/damage.js'
import { withHistory } from '../../log/directory.js'
import { logPosition, type NamedPosition } from '../../log/position.js'
import { logOf, namedTask } from '../../tasks/task-id.js'
import { displayOf } from '../../terminal/display.js'
import { outputSettings, toJsonLine } from '../../terminal/json.js'
import { explainFromLog, explainFromMemory, explainFromRecords } from './read.js'
import { showExplanation } from './show.js'

export const explain = defineVerb({
  summary:
    'Explain why a task ran as often as it did, from the records of the log. Reads them through the coordinator, or directly from a log directory.',
  examples: [
    { line: 'tenure explain 17', help: 'Explain the history of task 17.' },
    {
      line: 'tenure explain 17 --from-memory',
      help: 'Explain task 17 without reading records.',
    },
    {
      line: 'tenure explain /var/lib/tenure#17',
      help: 'Explain task 17 of the log in a directory.',
    },
    {
      line: 'tenure explain --log /var/lib/tenure 17 --at 2026-01-02T12:00:00Z',
      help: 'Explain what the log said about task 17 at a given time.',
    },
  ],
  settings: {
    Arguments: {
      task: argument(namedTask(), {
        help: 'Task id, or <directory>#<id> for a task in a log.',
      }),
    },
    Source: {
      fromMemory: flag(yesOrNo(), {
        fallback: false,
        help: 'Explain only what the coordinator remembers: up to 32 attempts, without heartbeats.',
      }),
      log: flag(text('directory'), {
        help: 'Read the log in this directory instead of asking a coordinator.',
      }),
      at: flag(logPosition(), {
        help: 'Moment of the log at which to explain the task: a record number (its LSN, for example 17), a time (2026-01-02T12:00Z), or a duration back from the last record (-5m).',
      }),
    },
    ...outputSettings,
    ...clientSettings,
  },
  prepare(configuration) {
    const { task, fromMemory, log, at, json } = configuration.values
    const { taskId } = task
    const directory = logOf(task, log)
    if (fromMemory && (directory !== undefined || at !== undefined)) {
      throw new ConfigError(
        `${flagOf('fromMemory')} cannot be combined with a log or ${flagOf('at')}; remove one of them`,
      )
    }
    const write = (explanation: Explanation | undefined, host: Host) =>
      explanation === undefined
        ? refuse(taskId, directory !== undefined, at !== undefined, host)
        : tell(explanation, json, host)
    if (directory !== undefined) {
      return withHistory(directory, async (history, host) => {
        const told = await explainFromLog(directory, history, taskId, at)
        warnOfUnreadable(told.unreadable, host)
        return write(told.explanation, host)
      })
    }
    return withClient(configuration, async (tenure, host) => {
      const told = fromMemory
        ? await withTaskId(taskId, explainFromMemory(tenure, taskId))
        : await explainFromRecordsOr(tenure, taskId, at, host)
      return write(told, host)
    })
  },
})

function tell(explanation: Explanation, json: boolean, { stdout, env }: Host): number {
  stdout.write(
    json ? toJsonLine(explanation) : showExplanation(explanation, displayOf(stdout, env)),
  )
  return exitCodes.done
}

/** Falls back to what the coordinator remembers if it cannot read the records. */
async function explainFromRecordsOr(
  tenure: Tenure,
  taskId: number,
  at: NamedPosition | undefined,
  { stderr }: Host,
): Promise<Explanation | undefined> {
  try {
    return await explainFromRecords(tenure, taskId, at)
  } catch (error) {
    const isUnreadable = error instanceof RejectedError && error.reason === 'INTERNAL'
    if (!isUnreadable || at !== undefined) throw error
    stderr.write(
      `tenure: ${printable(withoutFullStop(error.message))}. The following is what the coordinator remembers, without heartbeats and restarts:\n`,
    )
    return explainFromMemory(tenure, taskId)
  }
}

function refuse(taskId: number, isLog: boolean, isThen: boolean, { stderr }: Host): number {
  const who = isLog ? 'the log has' : 'it is unknown to the coordinator, whose log has'
  const when = isThen ? ' as of that moment' : ''
  stderr.write(
    `tenure: task ${taskId}: ${who} no records of it${when}; they may have been removed\n`,
  )
  return exitCodes.failed
}
