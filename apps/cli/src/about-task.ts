import { RejectedError } from '@tenure/client'
import { explain, Refusal } from './coordinator/refusals.js'

/** An answer about one task. Where there is no such task, it is said which one. */
export async function aboutTask<T>(taskId: number, answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    if (!(error instanceof RejectedError) || error.reason !== 'UNKNOWN_TASK') throw error
    throw new Refusal(error.reason, `task ${taskId}: ${explain(error)}`)
  }
}
