import { argument, severalArguments, whole } from '@tenure/app-kit'

const taskId = whole(1, Number.MAX_SAFE_INTEGER)

/** The task that a verb is about. */
export const taskIdSettings = {
  Which: { taskId: argument(taskId, { help: 'The id of the task.' }) },
} as const

/** The tasks that a verb is about. */
export const taskIdsSettings = {
  Which: { taskId: severalArguments(taskId, { help: 'The id of a task, or of several.' }) },
} as const
