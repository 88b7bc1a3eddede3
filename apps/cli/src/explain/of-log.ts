import { type Explanation, explainTask, type History } from '@tenure/history'
import type { HistoryDamage } from '@tenure/wal'
import { readTaskOverDamage } from '../log/over-damage.js'
import { type NamedPosition, resolvePosition } from '../log/position.js'

export interface ToldOfLog {
  readonly explanation: Explanation | undefined
  readonly unreadable?: HistoryDamage
}

/** From the log alone; `undefined` where it says nothing. What is not over yet has no end in it. */
export async function explainFromLog(
  directory: string,
  history: History,
  taskId: number,
  at: NamedPosition | undefined,
): Promise<ToldOfLog> {
  const until = await resolvePosition(history, at)
  const { read, ...rest } = await readTaskOverDamage(directory, history, taskId, until)
  const explanation = explainTask(read, until === undefined ? {} : { asOf: until })
  return { explanation, ...rest }
}
