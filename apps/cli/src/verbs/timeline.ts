import { writeFileSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import {
  argument,
  ConfigError,
  choice,
  defineVerb,
  exitCodes,
  flagOf,
  type Host,
  printable,
  text,
  whole,
  yesOrNo,
} from '@tenure/app-kit'
import type { Position } from '@tenure/history'
import { flag } from '../command-line.js'
import { clientSettings, withClient } from '../coordinator/connection.js'
import { warnOfUnreadable } from '../log/damage.js'
import { withHistory } from '../log/directory.js'
import { countBack, logPosition } from '../log/position.js'
import { readTaskSkippingDamage } from '../log/skip-damage.js'
import { isIdOfShard } from '../tasks/task-id.js'
import { outputSettings, toJsonLine } from '../terminal/json.js'
import { drawHtml } from '../timeline/html.js'
import {
  decodeTaskHistory,
  type Recording,
  recordingOfLog,
  recordingOfTask,
} from '../timeline/recording.js'
import { drawSvg } from '../timeline/svg.js'
import { themes } from '../timeline/theme.js'
import { makeTimeline, type Timeline } from '../timeline/timeline.js'
import { count } from '../timeline/words.js'

export const timeline = defineVerb({
  summary:
    'Draw which worker owned which task, and when. Shows attempts, heartbeats, expiries, late reports and restarts. Reads a log directory, or a single task from a coordinator.',
  examples: [
    { line: 'tenure timeline ./data --out timeline.svg', help: 'Draw all tasks of a log.' },
    {
      line: 'tenure timeline ./data#17 --lanes workers --out 17.html',
      help: 'Draw which workers ran task 17, as a page with a table.',
    },
    {
      line: 'tenure timeline 17 --out 17.svg',
      help: 'Draw task 17 from the records of the coordinator.',
    },
    {
      line: 'tenure timeline ./data --repeated --from 2026-01-02T12:00Z --out twice.svg',
      help: 'Draw the tasks that ran more than once since a given time.',
    },
  ],
  settings: {
    Arguments: {
      subject: argument(text('dir|dir#task|task'), {
        help: '<directory> for all tasks of a log, <directory>#<task id> for one of them, or <task id> for a task of a running coordinator.',
      }),
    },
    Picture: {
      out: flag(text('file'), {
        help: 'File to write, ending in .svg or .html.',
        required: true,
      }),
      lanes: flag(choice('tasks', 'workers'), {
        fallback: 'tasks',
        help: 'Draw one lane per task or per worker.',
      }),
      lanesMax: flag(whole(1, 500), {
        fallback: 40,
        help: 'Maximum number of lanes; the picture says how they were chosen.',
      }),
      from: flag(logPosition(), { help: 'First LSN or time to draw.' }),
      to: flag(logPosition(), { help: 'Last LSN or time to draw.' }),
      repeated: flag(yesOrNo(), {
        fallback: false,
        help: 'Draw only tasks with more than one attempt.',
      }),
      theme: flag(choice(...themes), {
        fallback: 'auto',
        help: 'Colour theme; auto follows the preference of the viewer.',
      }),
    },
    ...outputSettings,
    ...clientSettings,
  },
  prepare(configuration) {
    const { values } = configuration
    const { out, theme } = values
    const draw = drawerFor(out)
    const subject = parseSubject(values.subject)
    const options = { ...values, lanesBy: values.lanes, onlyRepeated: values.repeated }
    const finish = async (
      recording: Recording,
      lastAt: () => Promise<number>,
      { stdout, stderr }: Host,
    ) => {
      const from = await countBack(values.from, lastAt)
      const to = await countBack(values.to, lastAt)
      const made = await makeTimeline(recording, { ...options, from, to })
      const nothing = describeNothing(subject, options.onlyRepeated, from ?? to)
      const fault = made === undefined ? nothing : whyNotWritten(out, draw(made, theme))
      if (made === undefined || fault !== undefined) {
        stderr.write(`tenure: ${printable(fault ?? nothing)}\n`)
        return exitCodes.failed
      }
      stdout.write(
        values.json ? toJsonLine(factsOf(made, out)) : `${printable(describeDrawn(made, out))}\n`,
      )
      return exitCodes.done
    }
    const { directory, taskId } = subject
    const name = nameOf(subject)
    if (directory !== undefined) return withRecording({ directory, taskId, name }, finish)
    return withClient(configuration, async (tenure, host) => {
      const answer = await tenure.history(taskId!)
      const recording = recordingOfTask(name, decodeTaskHistory(taskId!, answer))
      return finish(recording, async () => (await tenure.stats()).lastAt, host)
    })
  },
})

function drawerFor(out: string) {
  if (out.endsWith('.svg')) return drawSvg
  if (out.endsWith('.html')) return drawHtml
  throw new ConfigError(`${flagOf('out')} is ${out}; it must end in .svg or .html`)
}

function describeNothing(
  subject: Subject,
  onlyRepeated: boolean,
  within: Position | undefined,
): string {
  const name = nameOf(subject)
  if (!onlyRepeated) return `no records of ${name}${within === undefined ? '' : ' in that range'}`
  const span = within === undefined ? '' : ' in that range'
  return subject.taskId === undefined
    ? `no task of ${name} ran more than once${span}`
    : `${name} did not run more than once${span}`
}

function whyNotWritten(out: string, drawn: string): string | undefined {
  try {
    writeFileSync(out, drawn)
    return undefined
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
    if (error.code === 'ENOENT')
      return `cannot write ${out}: directory ${dirname(out)} does not exist`
    return error.message
  }
}

function factsOf({ lanes, lanesTotal, lanesBy, overview }: Timeline, out: string) {
  return { out, lanesBy, lanes: lanes.length, lanesTotal, attempts: overview.attempts }
}

function describeDrawn({ lanes, lanesTotal, lanesBy, overview }: Timeline, out: string): string {
  const some = lanes.length < lanesTotal ? `${lanes.length} of ` : ''
  const lane = count(lanesTotal, lanesBy === 'tasks' ? 'task' : 'worker')
  return `${out}: ${some}${lane}, ${count(overview.attempts, 'attempt')}`
}

interface Place {
  readonly directory: string
  readonly taskId: number | undefined
  readonly name: string
}

/** Opens the recording of a log, or of one of its tasks. */
function withRecording(
  { directory, taskId, name }: Place,
  action: (recording: Recording, lastAt: () => Promise<number>, host: Host) => Promise<number>,
): (host: Host) => Promise<number> {
  return withHistory(directory, async (history, host) => {
    const lastAt = async () => (await history.end()).at
    if (taskId === undefined) return action(await recordingOfLog(name, history), lastAt, host)
    const { read, unreadable } = await readTaskSkippingDamage(directory, history, taskId)
    warnOfUnreadable(unreadable, host)
    return action(recordingOfTask(name, read), lastAt, host)
  })
}

/** A log on this machine, one of its tasks, or a task of a coordinator. */
interface Subject {
  readonly directory?: string | undefined
  readonly taskId?: number | undefined
}

/** `17` is a task of the coordinator, `data#17` a task of a log, everything else a directory. */
function parseSubject(given: string): Subject {
  if (/^\d+$/.test(given)) return { taskId: Number(given) }
  if (isIdOfShard(given)) {
    throw new ConfigError(
      `<subject> is "${given}", but shards are not supported yet; use a task id (17), or ./${given} for a directory`,
    )
  }
  const [, directory, task] = /^(.+)#(\d+)$/s.exec(given) ?? []
  return directory === undefined ? { directory: given } : { directory, taskId: Number(task) }
}

function nameOf({ directory, taskId }: Subject): string {
  const task = taskId === undefined ? [] : [`task ${taskId}`]
  const log = directory === undefined ? [] : [`log ${basename(resolve(directory))}`]
  return [...task, ...log].join(' of ')
}
