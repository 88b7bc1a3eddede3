import { argument, ConfigError, flagOf, type Kind, severalArguments, whole } from '@tenure/app-kit'

/** A task of a coordinator, or of a log if `log` is set. */
export interface NamedTask {
  readonly taskId: number
  readonly log?: string
}

/** `17`, `/var/lib/tenure#17`. */
export function namedTask(): Kind<NamedTask> {
  return {
    placeholder: '<task-id>',
    accepted: 'a task id (17), or a task in a log (/var/lib/tenure#17)',
    json: ['string', 'number'],
    parse: parseTask,
    describe: describeWrongId,
    format: ({ taskId, log }) => (log === undefined ? String(taskId) : `${log}#${taskId}`),
  }
}

function parseTask(text: string): NamedTask | undefined {
  const [, log, digits] = /^(?:(.+)#)?([1-9]\d*)$/s.exec(text) ?? []
  const taskId = Number(digits)
  if (!Number.isSafeInteger(taskId)) return undefined
  return log === undefined ? { taskId } : { taskId, log }
}

/** The log may be part of the task argument or a flag. */
export function logOf({ log }: NamedTask, flag: string | undefined): string | undefined {
  if (log !== undefined && flag !== undefined) {
    throw new ConfigError(
      `two logs are given, ${log} and ${flagOf('log')} ${flag}; remove one of them`,
    )
  }
  return log ?? flag
}

/** A task id by itself. */
export function plainTaskId(): Kind<number> {
  return { ...whole(1, Number.MAX_SAFE_INTEGER), describe: describeWrongId }
}

function describeWrongId(given: string): string {
  const isOfShard = isIdOfShard(given.slice(1, -1))
  return isOfShard ? `${given}, but shards are not supported yet` : given
}

/** `k.lsn`, by itself or in a log, is reserved for the tasks of shard k. */
export function isIdOfShard(given: string): boolean {
  return /^(?:.+#)?\d+\.\d+$/s.test(given)
}

const taskId = plainTaskId()

export const taskIdSettings = {
  Arguments: { taskId: argument(taskId, { help: 'Task id.' }) },
} as const

export const taskIdsSettings = {
  Arguments: { taskId: severalArguments(taskId, { help: 'One or more task ids.' }) },
} as const
