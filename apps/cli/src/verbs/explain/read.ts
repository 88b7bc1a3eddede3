import { RejectedError, type Task, type Tenure } from '@tenure/client'
import { type Explanation, explainTask, type History, type TaskHistory } from '@tenure/history'
import { cutTaskHistory, explainRemembered } from '@tenure/history/internal'
import { decodeRecord } from '@tenure/state-machine'
import type { HistoryDamage } from '@tenure/wal'
import { countBack, type NamedPosition, resolvePosition } from '../../log/position.js'
import { readTaskSkippingDamage } from '../../log/skip-damage.js'

/** Reads no records, so heartbeats and restarts are missing. */
export async function explainFromMemory(tenure: Tenure, taskId: number): Promise<Explanation> {
  const [task, { now }] = await Promise.all([tenure.get(taskId), tenure.why(taskId)])
  return explainRemembered(task, { now })
}

/** Reads the records on the coordinator's disk; `undefined` if the task is unknown. */
export async function explainFromRecords(
  tenure: Tenure,
  taskId: number,
  at: NamedPosition | undefined,
): Promise<Explanation | undefined> {
  // Read first: later events are in the records.
  const remembered = await recall(tenure, taskId)
  const { now, lastAt } = await tenure.stats()
  const read = await readHistory(tenure, taskId, remembered)
  const asOf = await countBack(at, async () => lastAt)
  return asOf === undefined
    ? explainTask(read, { now })
    : explainTask(cutTaskHistory(read, asOf), { asOf })
}

async function readHistory(
  tenure: Tenure,
  taskId: number,
  remembered: Task | undefined,
): Promise<TaskHistory> {
  const { firstLsn, records, openings } = await tenure.history(taskId)
  const entries = records.map(({ lsn, bytes }) => ({ lsn, record: decodeRecord(bytes) }))
  const isWhole = firstLsn <= taskId
  const known = remembered !== undefined && !isWhole ? { remembered } : {}
  return { taskId, firstLsn, entries, openings, ...known }
}

/** `undefined` for a forgotten task, which may still have records. */
async function recall(tenure: Tenure, taskId: number): Promise<Task | undefined> {
  try {
    return await tenure.get(taskId)
  } catch (error) {
    if (error instanceof RejectedError && error.reason === 'UNKNOWN_TASK') return undefined
    throw error
  }
}

interface ToldOfLog {
  readonly explanation: Explanation | undefined
  readonly unreadable?: HistoryDamage | undefined
}

/** Reads the log; the explanation is `undefined` if the task has no records. */
export async function explainFromLog(
  directory: string,
  history: History,
  taskId: number,
  at: NamedPosition | undefined,
): Promise<ToldOfLog> {
  const until = await resolvePosition(history, at)
  const { read, ...rest } = await readTaskSkippingDamage(directory, history, taskId, until)
  const explanation = explainTask(read, until === undefined ? {} : { asOf: until })
  return { explanation, ...rest }
}
