import { argument, whole } from '@tenure/app-kit'

/** The task that a verb is about. */
export const taskIdSettings = {
  Which: { taskId: argument(whole(1, Number.MAX_SAFE_INTEGER), { help: 'The id of the task.' }) },
} as const
