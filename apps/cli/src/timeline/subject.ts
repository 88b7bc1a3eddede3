import { basename, resolve } from 'node:path'

/** What a timeline is about: a log on this machine, one task of it, or a task of a coordinator. */
export interface Subject {
  readonly directory?: string | undefined
  readonly taskId?: number | undefined
}

/** `17` is a task of the coordinator, `data#17` a task of a log, everything else a directory. */
export function parseSubject(given: string): Subject {
  if (/^\d+$/.test(given)) return { taskId: Number(given) }
  const [, directory, task] = /^(.+)#(\d+)$/s.exec(given) ?? []
  return directory === undefined ? { directory: given } : { directory, taskId: Number(task) }
}

export function nameOf({ directory, taskId }: Subject): string {
  const task = taskId === undefined ? [] : [`task ${taskId}`]
  const log = directory === undefined ? [] : [`log ${basename(resolve(directory))}`]
  return [...task, ...log].join(' of ')
}
