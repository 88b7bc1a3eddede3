import type { WorkerInfo } from '@tenure/client'
import type { Look } from '../terminal/look.js'
import { showAge } from '../terminal/times.js'
import { type Column, showColumns } from './columns.js'

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
