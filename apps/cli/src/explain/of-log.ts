import { type Explanation, explainTask, type History, readTaskHistory } from '@tenure/history'
import { type NamedPosition, resolvePosition } from '../position.js'

/** From the log alone; `undefined` where it says nothing. What is not over yet has no end in it. */
export async function explainFromLog(
  history: History,
  taskId: number,
  at: NamedPosition | undefined,
): Promise<Explanation | undefined> {
  const until = await resolvePosition(history, at)
  const options = until === undefined ? {} : { until }
  const read = await readTaskHistory(history, taskId, options)
  return explainTask(read, until === undefined ? {} : { asOf: until })
}
