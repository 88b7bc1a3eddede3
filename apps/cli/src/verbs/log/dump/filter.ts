import type { Entry } from '@tenure/history'
import { filterBehind } from '@tenure/history/internal'
import {
  defaultQueue,
  getTask,
  listTasks,
  type RecordType,
  type State,
} from '@tenure/state-machine'

/** The filters; an absent one lets every record pass. */
export interface FilterOptions {
  readonly task?: number | undefined
  readonly worker?: string | undefined
  readonly queue?: string | undefined
  readonly types?: readonly RecordType[] | undefined
}

/** Whether a record passes. Filters have state and must see every record in order. */
type Filter = (entry: Entry) => boolean

/** Some records name only a lease or a task; earlier records tell its worker and queue. */
export function filterFor(
  { task, worker, queue, types }: FilterOptions,
  before: State | undefined,
): Filter {
  const filters: Filter[] = []
  if (task !== undefined) {
    const filter = filterBehind(task, before && getTask(before, task))
    filters.push((entry) => filter.takes(entry))
  }
  if (worker !== undefined) filters.push(ofWorker(worker, before))
  if (queue !== undefined) filters.push(ofQueue(queue, before))
  if (types !== undefined) filters.push(({ record }) => types.includes(record.type))
  // No short circuit: each filter must see every record.
  return (entry) => filters.reduce((taken, takes) => takes(entry) && taken, true)
}

function ofWorker(worker: string, before: State | undefined): Filter {
  const leases = new Set<number>()
  for (const { attempts } of tasksOf(before)) {
    for (const { leaseId, workerId } of attempts) if (workerId === worker) leases.add(leaseId)
  }
  return ({ record }) => {
    if (!('leaseId' in record)) return false
    if (record.type === 'LeaseGranted' && record.workerId === worker) leases.add(record.leaseId)
    return leases.has(record.leaseId)
  }
}

function ofQueue(queue: string, before: State | undefined): Filter {
  const tasks = new Set<number>()
  const leases = new Set<number>()
  for (const task of tasksOf(before)) {
    if (task.queue !== queue) continue
    tasks.add(task.taskId)
    for (const { leaseId } of task.attempts) leases.add(leaseId)
  }
  return ({ record }) => {
    if (record.type === 'LeaseExtended') return leases.has(record.leaseId)
    if (record.type === 'TasksForgotten') return false
    if (record.type === 'TaskCreated' && (record.queue ?? defaultQueue) === queue) {
      tasks.add(record.taskId)
    }
    if (!tasks.has(record.taskId)) return false
    if (record.type === 'LeaseGranted') leases.add(record.leaseId)
    return true
  }
}

function* tasksOf(state: State | undefined) {
  if (state === undefined) return
  for (const { taskId } of listTasks(state)) yield getTask(state, taskId)!
}
