import { choice, defineVerb, exitCodes, listOf, text, whole, yesOrNo } from '@tenure/app-kit'
import { type RecordType, transitions } from '@tenure/state-machine'
import { flag } from '../../../command-line.js'
import { logDirectorySettings, withLog } from '../../../log/directory.js'
import { logPosition } from '../../../log/position.js'
import { plainTaskId } from '../../../tasks/task-id.js'
import type { FilterOptions } from './filter.js'
import { dumpRecords } from './records.js'

const most = Number.MAX_SAFE_INTEGER
const types = Object.keys(transitions) as [RecordType, ...RecordType[]]
const recordType = { ...choice(...types), placeholder: '<type>' }

export const dump = defineVerb({
  summary: 'Print the records of a log as JSON, one per line, with LSN, time, type and all fields.',
  examples: [
    { line: 'tenure log dump tenure-data --task 17', help: 'Print all records of task 17.' },
    {
      line: 'tenure log dump tenure-data --type TaskFailed,TaskDead --from -1h',
      help: 'Print the failures in the last hour of the log.',
    },
    {
      line: 'tenure log dump tenure-data --last 0 --follow',
      help: 'Print new records as they are written.',
    },
  ],
  settings: {
    ...logDirectorySettings,
    Range: {
      from: flag(logPosition(), { help: 'First LSN or time to print.' }),
      to: flag(logPosition(), { help: 'Last LSN or time to print.' }),
      limit: flag(whole(0, most), { help: 'Maximum number of records to print.' }),
      last: flag(whole(0, 1_000_000), { help: 'Print only the last <number> records.' }),
      follow: flag(yesOrNo(), {
        fallback: false,
        help: 'Wait at the end for new records until Ctrl-C.',
      }),
    },
    Filters: {
      task: flag(plainTaskId(), {
        help: 'Only records of this task, with the extensions of its leases.',
      }),
      worker: flag(text('name'), { help: 'Only records under leases of this worker.' }),
      queue: flag(text('queue'), { help: 'Only records of tasks of this queue.' }),
      type: flag(listOf(recordType), { help: `Only records of these types: ${types.join(', ')}.` }),
    },
    Output: {
      json: flag(yesOrNo(), {
        fallback: false,
        help: 'Has no effect: this command always prints JSON, one record per line, with bytes as base64.',
      }),
      text: flag(yesOrNo(), {
        fallback: false,
        help: 'Print payloads and results that are text as payloadText and resultText instead of base64.',
      }),
    },
  },
  prepare({ values }) {
    const { directory, follow, limit = most, last, task, worker, queue, type } = values
    const wanted: FilterOptions = {
      task,
      worker,
      queue,
      types: type,
    }
    return withLog(directory, async (host) => {
      const stop = new AbortController()
      if (follow) for (const signal of stops) host.on(signal, () => stop.abort())
      const following = follow ? stop.signal : undefined
      const range = { from: values.from, to: values.to, last, limit }
      const options = { wanted, ...range, asText: values.text, following }
      for await (const lines of dumpRecords(directory, options)) host.stdout.write(lines)
      return exitCodes.done
    })
  },
})

const stops = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
