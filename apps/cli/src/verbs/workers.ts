import { defineVerb } from '@tenure/app-kit'
import type { WorkerInfo } from '@tenure/client'
import { exitCodes } from '../command-line.js'
import { clientSettings, withClient } from '../coordinator/connection.js'
import { showAge } from '../terminal/figures.js'
import { outputSettings, toJsonLine } from '../terminal/json.js'
import { type Look, lookOf } from '../terminal/look.js'
import { type Column, showColumns } from '../terminal/table.js'

export const workers = defineVerb({
  summary:
    'Shows who works: how much at once, what they hold, for which queues. It takes a token with the role admin.',
  examples: [
    { line: 'tenure workers', help: 'Everybody who is connected or holds a lease.' },
    {
      line: `tenure workers --json | jq -r 'select(.connections == 0) | .name'`,
      help: 'Who holds leases and is gone.',
    },
  ],
  settings: { ...outputSettings, ...clientSettings },
  prepare(configuration) {
    const { json } = configuration.values
    return withClient(
      configuration,
      async (tenure, { stdout, stderr, env }) => {
        const [{ workers, leftOut }, { now }] = await Promise.all([
          tenure.workers(),
          tenure.stats(),
        ])
        if (json) stdout.write(workers.map(toJsonLine).join(''))
        else if (workers.length > 0) stdout.write(showWorkers(workers, now, lookOf(stdout, env)))
        if (workers.length === 0) {
          stderr.write('tenure: there are no workers: start one, as tenure-worker --help shows\n')
        }
        if (leftOut > 0) stderr.write(`tenure: there are ${leftOut} more; metrics count them all\n`)
        return exitCodes.done
      },
      ['admin'],
    )
  },
})

/** Who is there, one worker in a line. */
export function showWorkers(workers: readonly WorkerInfo[], now: number, look: Look): string {
  return showColumns(columnsAt(now), workers, look)
}

function columnsAt(now: number): readonly Column<WorkerInfo>[] {
  return [
    { head: 'worker', cut: true, of: ({ name }) => name },
    {
      head: 'connections',
      right: true,
      of: ({ connections }) =>
        connections === 0 ? { text: 'gone', style: 'bad' } : String(connections),
    },
    { head: 'holds', right: true, of: showHolds },
    {
      head: 'heard of',
      right: true,
      // 0: its connection was gone before the coordinator noted that it holds a lease.
      of: ({ lastHeardAt }) => (lastHeardAt === 0 ? 'not known' : showAge(lastHeardAt, now)),
    },
    { head: 'queues', cut: true, of: ({ queues = [] }) => queues.join(',') },
    { head: 'tasks', cut: true, of: showHeld },
  ]
}

/** Only a worker that is connected has said how much it takes, and capacity 0 does not say. */
function showHolds({ leases, capacity, connections }: WorkerInfo): string {
  return connections === 0 || capacity === 0 ? String(leases) : `${leases} of ${capacity}`
}

/** The coordinator tells ten of them at most. */
function showHeld({ tasks = [], leases }: WorkerInfo): string {
  const more = leases - tasks.length
  return [...tasks.map(String), ...(more > 0 && tasks.length > 0 ? [`+${more}`] : [])].join(' ')
}
