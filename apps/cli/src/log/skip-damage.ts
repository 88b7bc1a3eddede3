import {
  type Explanation,
  explainTask,
  History,
  type LogSource,
  type Position,
  readTaskHistory,
  type TaskHistory,
} from '@tenure/history'
import { type HistoryDamage, type LogReader, openReadOnly } from '@tenure/wal'
import { historyDamageOf } from './damage.js'

/** The readable history of a task, and the damage that was skipped. */
export interface ReadTask {
  readonly read: TaskHistory
  readonly unreadable?: HistoryDamage | undefined
}

/**
 * Reads a task's history and skips damage that a checkpoint covers. If the task ended before the
 * damage, its history up to there is complete. Otherwise the history begins after the damage, with
 * what the checkpoint remembers, as if the coordinator had removed the records before it.
 */
export async function readTaskSkippingDamage(
  directory: string,
  history: History,
  taskId: number,
  until?: Position,
): Promise<ReadTask> {
  let remaining = history
  let unreadable: HistoryDamage | undefined
  for (;;) {
    try {
      const read = await readTaskHistory(remaining, taskId, spanOf(until))
      return { read, unreadable }
    } catch (error) {
      const damage = historyDamageOf(error)
      if (damage === undefined) throw error
      const before = await readBefore(remaining, taskId, damage, until)
      if (before !== undefined) return { read: before, unreadable: damage }
      // The requested moment lies in the damage or before it.
      if (until !== undefined && 'lsn' in until && until.lsn <= damage.lastMissingLsn) throw error
      unreadable = damage
      remaining = await openHistoryFrom(directory, damage.lastMissingLsn + 1)
    }
  }
}

/** `undefined` unless the task ended before the damage. */
async function readBefore(
  history: History,
  taskId: number,
  { firstMissingLsn }: HistoryDamage,
  until: Position | undefined,
): Promise<TaskHistory | undefined> {
  const lastLsn = firstMissingLsn - 1
  if (taskId > lastLsn) return undefined
  const read = await readTaskHistory(history, taskId, { until: { lsn: lastLsn } })
  return until === undefined && isOver(explainTask(read)) ? read : undefined
}

function isOver(explanation: Explanation | undefined): boolean {
  return explanation?.state !== undefined && !['WAITING', 'LEASED'].includes(explanation.state)
}

function spanOf(until: Position | undefined) {
  return until === undefined ? {} : { until }
}

/** Opens a log as if a coordinator had removed the records before `firstLsn`. */
async function openHistoryFrom(directory: string, firstLsn: number): Promise<History> {
  return new History(sourceFrom(await openReadOnly(directory), firstLsn))
}

export function sourceFrom(reader: LogReader, firstLsn: number): LogSource {
  if (firstLsn <= reader.firstLsn) return reader
  return {
    firstLsn,
    checkpoints: reader.checkpoints.filter((lsn) => lsn >= firstLsn - 1),
    gaps: reader.gaps,
    openings: reader.openings.filter((opening) => opening.firstLsn >= firstLsn),
    replay: (options) => reader.replay(options),
    readCheckpoint: (lsn) => reader.readCheckpoint(lsn),
  }
}
