import {
  apply,
  createState,
  decodeRecord,
  getLease,
  getTask,
  type LogRecord,
  type RecordType,
  type State,
  type Task,
} from '@tenure/state-machine'
import { type FollowOptions, openReadOnly } from '@tenure/wal'

// Reads the coordinator's log from its directory, while the coordinator runs or after it has ended.
// Answered facts are already on disk, so no test has to wait for them.

export interface Entry {
  readonly lsn: number
  readonly record: LogRecord
}

export async function* readLog(
  dataDir: string,
  options: FollowOptions = {},
): AsyncGenerator<Entry> {
  const log = await openReadOnly(dataDir)
  for await (const { firstLsn, records } of log.replay(options)) {
    for (const [index, bytes] of records.entries()) {
      yield { lsn: firstLsn + index, record: decodeRecord(bytes) }
    }
  }
}

/** The types of the records about a task, in order. */
export async function historyOf(dataDir: string, taskId: number): Promise<RecordType[]> {
  const histories = await readHistories(dataDir)
  return histories.get(taskId) ?? []
}

/** The record types of every task ever created. */
export async function readHistories(dataDir: string): Promise<Map<number, RecordType[]>> {
  const histories = new Map<number, RecordType[]>()
  const taskOf = new Map<number, number>()
  for await (const { record } of readLog(dataDir)) {
    if (record.type === 'TaskCreated') histories.set(record.taskId, [])
    if (record.type === 'LeaseGranted') taskOf.set(record.leaseId, record.taskId)
    if (record.type === 'TasksForgotten') continue
    // A LeaseExtended names only its lease.
    const taskId = record.type === 'LeaseExtended' ? taskOf.get(record.leaseId)! : record.taskId
    histories.get(taskId)!.push(record.type)
  }
  return histories
}

/** Resolves when the running coordinator has written such a record. */
export async function untilWritten(
  dataDir: string,
  isAwaited: (record: LogRecord) => boolean,
): Promise<void> {
  for await (const { record } of readLog(dataDir, { follow: true })) {
    if (isAwaited(record)) return
  }
}

/** Each record as it is applied, with its task before and after. */
export function* replay(entries: readonly Entry[]): Generator<Step> {
  const state = createState()
  for (const { lsn, record } of entries) {
    const taskId = taskOf(state, record)
    const before = taskId === undefined ? undefined : getTask(state, taskId)
    apply(state, lsn, record)
    const after = taskId === undefined ? undefined : getTask(state, taskId)
    yield { lsn, record, state, before, after }
  }
}

export interface Step extends Entry {
  readonly state: State
  readonly before: Task | undefined
  readonly after: Task | undefined
}

function taskOf(state: State, record: LogRecord): number | undefined {
  if (record.type === 'TasksForgotten') return undefined
  return record.type === 'LeaseExtended' ? getLease(state, record.leaseId)?.taskId : record.taskId
}
