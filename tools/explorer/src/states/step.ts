import { Violation } from '@tenure/harness'
import type { LogRecord } from '@tenure/state-machine'
import type { NaiveTask } from '@tenure/testing'

type TaskState = NaiveTask['state']

/** 000 §4 as a table: what each record may make of its task. Written from the documents. */
const legal: Readonly<Record<LogRecord['type'], readonly string[]>> = {
  TaskCreated: ['none WAITING'],
  LeaseGranted: ['WAITING LEASED'],
  LeaseExtended: ['LEASED LEASED'],
  LeaseExpired: ['LEASED WAITING'],
  TaskCompleted: ['LEASED COMPLETED'],
  TaskFailed: ['LEASED WAITING', 'LEASED FAILED'],
  TaskCancelled: ['WAITING', 'LEASED', 'COMPLETED', 'FAILED', 'DEAD'].map((it) => `${it} ${it}`),
  TaskDead: ['WAITING DEAD', 'LEASED DEAD'],
  TasksForgotten: [],
}

/** What must hold of every step from one state of the log to the next, whatever the path to it. */
export function checkStep(
  before: readonly NaiveTask[],
  record: LogRecord,
  after: readonly NaiveTask[],
): void {
  const taskId = 'taskId' in record ? record.taskId : ownerOf(before, record)
  for (const task of after) {
    const was = before.find((other) => other.taskId === task.taskId)
    if (task.taskId === taskId) checkTransition(record, was?.state ?? 'none', task.state)
    else if (was?.state !== task.state) broken('a record changes its own task only', record)
    if (was !== undefined && was.requestId !== task.requestId) {
      broken('a request_id is one task', record)
    }
    checkLeases(record, task)
  }
  if (after.length < before.length) broken('no task is lost', record)
  if (record.type === 'LeaseGranted') checkGrant(record, before)
  if (record.type === 'TaskCompleted' || record.type === 'TaskFailed') checkReport(record, before)
}

function checkTransition(record: LogRecord, from: TaskState | 'none', to: TaskState): void {
  if (legal[record.type].includes(`${from} ${to}`)) return
  throw new Violation('only legal transitions', `${record.type} made ${to} of ${from}`)
}

function checkLeases(record: LogRecord, { state, attempts }: NaiveTask): void {
  const live = attempts.filter(({ outcome }) => outcome === 'OPEN').length
  if (live !== (state === 'LEASED' ? 1 : 0)) broken('a task has at most one live lease', record)
}

function checkGrant(
  record: LogRecord & { readonly leaseId: number },
  before: readonly NaiveTask[],
): void {
  const newest = Math.max(0, ...before.flatMap(({ attempts }) => attempts.map((it) => it.leaseId)))
  if (record.leaseId <= newest) broken('lease ids grow', record)
}

function checkReport(
  record: LogRecord & { readonly taskId: number; readonly leaseId: number },
  before: readonly NaiveTask[],
): void {
  const task = before.find(({ taskId }) => taskId === record.taskId)
  const lease = task?.attempts.at(-1)
  const isValid =
    lease?.leaseId === record.leaseId && lease.outcome === 'OPEN' && record.at < lease.leaseExpiry
  if (!isValid) broken('reports are accepted under the current and valid lease only', record)
}

function ownerOf(tasks: readonly NaiveTask[], record: LogRecord): number | undefined {
  if (record.type !== 'LeaseExtended') return undefined
  return tasks.find(({ currentLeaseId }) => currentLeaseId === record.leaseId)?.taskId
}

function broken(rule: string, record: LogRecord): never {
  throw new Violation(rule, JSON.stringify(record))
}
