import type { TaskHistory as AnswerOfCoordinator } from '@tenure/client'
import {
  type Entry,
  entriesOf,
  type History,
  type Opening,
  type TaskHistory,
} from '@tenure/history'
import { getTask, leasedTasks } from '@tenure/state-machine'
import { retell } from './remembered.js'

/** What a timeline is made from: records that can be read more than once, of all tasks or of one. */
export interface Recording {
  /** What a heading calls it. */
  readonly name: string
  /** The first record that is left. */
  readonly firstLsn: number
  readonly openings: readonly Opening[]
  read(): AsyncIterable<readonly Entry[]>
}

/** A whole log: what was leased when its first records were removed comes from a checkpoint. */
export async function recordingOfLog(name: string, history: History): Promise<Recording> {
  const { firstLsn, openings } = history
  const remembered = firstLsn > 1 ? await leasedBefore(history) : []
  return {
    name,
    firstLsn,
    openings,
    async *read() {
      if (remembered.length > 0) yield remembered
      yield* history.read()
    },
  }
}

export function recordingOfTask(name: string, history: TaskHistory): Recording {
  const { firstLsn, openings, entries, remembered } = history
  const before = remembered === undefined ? [] : retell(remembered, firstLsn)
  return {
    name,
    firstLsn,
    openings,
    async *read() {
      yield [...before, ...entries]
    },
  }
}

/** The same from what a coordinator answers. */
export function decodeTaskHistory(taskId: number, answer: AnswerOfCoordinator): TaskHistory {
  const { firstLsn, openings } = answer
  const entries = answer.records.flatMap(({ lsn, bytes }) => [
    ...entriesOf({ firstLsn: lsn, records: [bytes] }),
  ])
  return { taskId, firstLsn, openings, entries }
}

async function leasedBefore(history: History): Promise<Entry[]> {
  const state = await history.oldestState()
  if (state === undefined) return []
  return leasedTasks(state).flatMap((taskId) => retell(getTask(state, taskId)!, history.firstLsn))
}
