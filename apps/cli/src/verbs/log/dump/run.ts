import { choice, defineVerb, exitCodes, listOf, text, whole, yesOrNo } from '@tenure/app-kit'
import { type RecordType, transitions } from '@tenure/state-machine'
import { flag } from '../../../command-line.js'
import { logDirectorySettings, withLog } from '../../../log/directory.js'
import { logPosition } from '../../../log/position.js'
import { outputSettings } from '../../../terminal/json.js'
import type { Wanted } from './filter.js'
import { dumpRecords } from './records.js'

const most = Number.MAX_SAFE_INTEGER
const types = Object.keys(transitions) as [RecordType, ...RecordType[]]
const recordType = { ...choice(...types), placeholder: '<type>' }

export const dump = defineVerb({
  summary:
    'Writes the records of a log as JSON, one in a line: its LSN, its time, its type and all its fields.',
  examples: [
    { line: 'tenure log dump tenure-data --task 17', help: 'All that concerns task 17.' },
    {
      line: 'tenure log dump tenure-data --type TaskFailed,TaskDead --from -1h',
      help: 'What went wrong in the last hour of the log.',
    },
    { line: 'tenure log dump tenure-data --last 0 --follow', help: 'What is written from now on.' },
  ],
  settings: {
    ...logDirectorySettings,
    Range: {
      from: flag(logPosition(), { help: 'From this LSN or this time on.' }),
      to: flag(logPosition(), { help: 'Up to this LSN or this time, with it.' }),
      limit: flag(whole(0, most), { help: 'Stops after so many.' }),
      last: flag(whole(0, 1_000_000), { help: 'Only so many, the last ones.' }),
      follow: flag(yesOrNo(), {
        fallback: false,
        help: 'Waits at the end for what is written, until Ctrl-C.',
      }),
    },
    Filters: {
      task: flag(whole(1, most), {
        help: 'What concerns this task, with the extensions of its leases.',
      }),
      worker: flag(text('name'), { help: 'What happened under the leases of this worker.' }),
      queue: flag(text('queue'), { help: 'What concerns tasks of this queue.' }),
      type: flag(listOf(recordType), { help: `Records of these types: ${types.join(', ')}.` }),
    },
    Output: {
      ...outputSettings.Output,
      text: flag(yesOrNo(), {
        fallback: false,
        help: 'Payloads and results that are text stand as payloadText and resultText. Without it, and all others: base64.',
      }),
    },
  },
  prepare({ values }) {
    const { directory, follow, limit = most, last, task, worker, queue, type } = values
    const wanted: Wanted = {
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
