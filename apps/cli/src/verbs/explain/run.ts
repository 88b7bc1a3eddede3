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
import { aboutTask, withoutStop } from '../../coordinator/refusals.js'
import { warnOfUnreadable } from '../../log/damage.js'
import { withHistory } from '../../log/directory.js'
import { logPosition, type NamedPosition } from '../../log/position.js'
import { logOf, namedTask } from '../../tasks/task-id.js'
import { outputSettings, toJsonLine } from '../../terminal/json.js'
import { lookOf } from '../../terminal/look.js'
import { explainFromLog, explainFromMemory, explainFromRecords } from './read.js'
import { showExplanation } from './show.js'

export const explain = defineVerb({
  summary:
    'Explains from its records why a task ran as often as it did. Also from a log alone, beside a coordinator or without one.',
  examples: [
    { line: 'tenure explain 17', help: 'What became of task 17, and why.' },
    {
      line: 'tenure explain 17 --from-memory',
      help: 'At once, from what the coordinator remembers.',
    },
    { line: 'tenure explain /var/lib/tenure#17', help: 'From the log in that directory.' },
    {
      line: 'tenure explain --log /var/lib/tenure 17 --at 2026-01-02T12:00:00Z',
      help: 'What could be said of it then.',
    },
  ],
  settings: {
    Which: {
      task: argument(namedTask(), {
        help: 'The id of the task; behind a directory and #, one in its log.',
      }),
    },
    'Where from': {
      fromMemory: flag(yesOrNo(), {
        fallback: false,
        help: 'Asks for no records: attempts without heartbeats, the last 32 of them.',
      }),
      log: flag(text('directory'), {
        help: 'Reads the log in this directory and asks no coordinator.',
      }),
      at: flag(logPosition(), {
        help: 'As of this moment: nothing is told of what came later.',
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
        `${flagOf('fromMemory')} tells what the coordinator remembers now; it goes with no log and no ${flagOf('at')}`,
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
        ? await aboutTask(taskId, explainFromMemory(tenure, taskId))
        : await explainFromRecordsOr(tenure, taskId, at, host)
      return write(told, host)
    })
  },
})

function tell(explanation: Explanation, json: boolean, { stdout, env }: Host): number {
  stdout.write(json ? toJsonLine(explanation) : showExplanation(explanation, lookOf(stdout, env)))
  return exitCodes.done
}

/** Records that the coordinator cannot read do not keep it from telling what it remembers. */
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
      `tenure: ${printable(withoutStop(error.message))}. This is what the coordinator remembers, without heartbeats and restarts:\n`,
    )
    return explainFromMemory(tenure, taskId)
  }
}

function refuse(taskId: number, isLog: boolean, isThen: boolean, { stderr }: Host): number {
  const who = isLog ? 'the log has' : 'the coordinator does not know it, and its log has'
  const when = isThen ? ' as of that moment' : ''
  stderr.write(`tenure: task ${taskId}: ${who} no record of it${when}. Those removed are gone.\n`)
  return exitCodes.failed
}
