import { defineVerb } from '@tenure/app-kit'
import type { WorkerInfo } from '@tenure/client'
import { exitCodes } from '../command-line.js'
import { clientSettings, withClient } from '../coordinator/connection.js'
import { type Display, displayOf } from '../terminal/display.js'
import { showAge } from '../terminal/format.js'
import { outputSettings, toJsonLine } from '../terminal/json.js'
import { type Column, showColumns } from '../terminal/table.js'

export const workers = defineVerb({
  summary:
    'Show workers with their capacity, leases and queues. If the coordinator uses tokens, this needs one with the role admin.',
  examples: [
    { line: 'tenure workers', help: 'Show each worker that is connected or holds a lease.' },
    {
      line: `tenure workers --json | jq -r 'select(.connections == 0) | .name'`,
      help: 'Print the workers that hold leases but are not connected.',
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
        else if (workers.length > 0) stdout.write(showWorkers(workers, now, displayOf(stdout, env)))
        if (workers.length === 0) {
          stderr.write(
            'tenure: no worker is connected; tenure-worker --help shows how to start one\n',
          )
        }
        if (leftOut > 0)
          stderr.write(
            `tenure: ${leftOut} more workers are not shown; the metrics count all of them\n`,
          )
        return exitCodes.done
      },
      ['admin'],
    )
  },
})

export function showWorkers(workers: readonly WorkerInfo[], now: number, display: Display): string {
  return showColumns(columnsAt(now), workers, display)
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
    { head: 'leases', right: true, of: showLeases },
    {
      head: 'last heard',
      right: true,
      // 0: the connection was lost before the coordinator registered the lease.
      of: ({ lastHeardAt }) => (lastHeardAt === 0 ? 'unknown' : showAge(lastHeardAt, now)),
    },
    { head: 'queues', cut: true, of: ({ queues = [] }) => queues.join(',') },
    { head: 'tasks', cut: true, of: showTasks },
  ]
}

/** The capacity is known only while the worker is connected; 0 means unknown. */
function showLeases({ leases, capacity, connections }: WorkerInfo): string {
  return connections === 0 || capacity === 0 ? String(leases) : `${leases} of ${capacity}`
}

/** The coordinator sends at most ten tasks per worker. */
function showTasks({ tasks = [], leases }: WorkerInfo): string {
  const more = leases - tasks.length
  return [...tasks.map(String), ...(more > 0 && tasks.length > 0 ? [`+${more}`] : [])].join(' ')
}
