import type { Answer, Facts, Workers } from '@tenure/protocol'
import { getLeasedTaskId } from '@tenure/state-machine/internal'
import type { KnownWorker } from '../decide/worker-registry.js'
import { pageBytes, type QuerySources } from './query-sources.js'

/** Maximum number of tasks to list per worker. */
const tasksMax = 10

/** Maximum size of a worker's entry without its name, tasks and queues. */
const workerBytes = 96
const taskIdBytes = 9

/** Lists as many workers as fit into one answer; metrics cover larger systems. */
export function workers({ id }: Workers, sources: QuerySources): Answer {
  const { registry } = sources
  const workers: Facts[] = []
  let bytes = 0
  for (const worker of registry.list()) {
    const tasks = tasksOf(worker, sources)
    const queues = [...new Set(worker.queues)]
    bytes += workerBytes + tasks.length * taskIdBytes + bytesOf([worker.name, ...queues])
    if (bytes > pageBytes(sources)) break
    const { name, connections, capacity, leaseIds, lastHeardAt } = worker
    const leases = leaseIds.size
    workers.push({ name, connections, capacity, leases, lastHeardAt, tasks, queues })
  }
  return { kind: 'workers', id, workers, leftOut: registry.size - workers.length }
}

/** The tasks of the worker's oldest known leases, which matter most. */
function tasksOf({ leaseIds }: KnownWorker, { state }: QuerySources): number[] {
  const tasks: number[] = []
  for (const leaseId of leaseIds) {
    if (tasks.length === tasksMax) break
    const taskId = getLeasedTaskId(state, leaseId)
    if (taskId !== undefined) tasks.push(taskId)
  }
  return tasks
}

function bytesOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + 2 + Buffer.byteLength(text), 0)
}
