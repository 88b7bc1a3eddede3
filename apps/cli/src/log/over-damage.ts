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

/** What can be read of a task, and what could not be. */
export interface ReadTask {
  readonly read: TaskHistory
  readonly unreadable?: HistoryDamage | undefined
}

/**
 * Reads a task's history over damage that a checkpoint covers. A task that has ended before it is
 * told up to there; of every other one that is told which lies behind, as where a coordinator has
 * removed what came before, with what the checkpoint remembers.
 */
export async function readTaskOverDamage(
  directory: string,
  history: History,
  taskId: number,
  until?: Position,
): Promise<ReadTask> {
  let behind = history
  let unreadable: HistoryDamage | undefined
  for (;;) {
    try {
      const read = await readTaskHistory(behind, taskId, spanOf(until))
      return { read, unreadable }
    } catch (error) {
      const damage = historyDamageOf(error)
      if (damage === undefined) throw error
      const before = await readBefore(behind, taskId, damage, until)
      if (before !== undefined) return { read: before, unreadable: damage }
      // What was asked for lies in the damage or before it.
      if (until !== undefined && 'lsn' in until && until.lsn <= damage.lastMissingLsn) throw error
      unreadable = damage
      behind = await openHistoryBehind(directory, damage.lastMissingLsn + 1)
    }
  }
}

/** `undefined` unless the task was over before the damage, or nothing later was asked for. */
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

/**
 * A log as if the records before an LSN had been removed. What went bad in history that a checkpoint
 * covers is passed over like that, and the rest is told as where a coordinator has removed it.
 */
async function openHistoryBehind(directory: string, firstLsn: number): Promise<History> {
  return new History(sourceBehind(await openReadOnly(directory), firstLsn))
}

export function sourceBehind(reader: LogReader, firstLsn: number): LogSource {
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
