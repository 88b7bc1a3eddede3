import { argument, ConfigError, flagOf, type Kind, severalArguments, whole } from '@tenure/app-kit'

/** A task of a coordinator, or of a log. */
export interface NamedTask {
  readonly taskId: number
  readonly log?: string
}

/** `17`, `/var/lib/tenure#17`. */
export function namedTask(): Kind<NamedTask> {
  return {
    placeholder: '<task-id>',
    accepted: 'the id of a task (17), or one in a log (/var/lib/tenure#17)',
    json: ['string', 'number'],
    parse: parseTask,
    format: ({ taskId, log }) => (log === undefined ? String(taskId) : `${log}#${taskId}`),
  }
}

function parseTask(text: string): NamedTask | undefined {
  const [, log, digits] = /^(?:(.+)#)?([1-9]\d*)$/s.exec(text) ?? []
  const taskId = Number(digits)
  if (!Number.isSafeInteger(taskId)) return undefined
  return log === undefined ? { taskId } : { taskId, log }
}

/** The log that is meant, which may be named in two ways. */
export function logOf({ log }: NamedTask, flag: string | undefined): string | undefined {
  if (log !== undefined && flag !== undefined) {
    throw new ConfigError(`the log is named twice: ${log} and ${flagOf('log')} ${flag}`)
  }
  return log ?? flag
}

const taskId = whole(1, Number.MAX_SAFE_INTEGER)

/** The task that a verb is about. */
export const taskIdSettings = {
  Which: { taskId: argument(taskId, { help: 'The id of the task.' }) },
} as const

/** The tasks that a verb is about. */
export const taskIdsSettings = {
  Which: { taskId: severalArguments(taskId, { help: 'The id of a task, or of several.' }) },
} as const
