import { exitCodes, type Host } from '@tenure/app-kit'
import type { Task } from '@tenure/client'

/** The bytes that the handler gave, as they are, for the next program in the pipe. */
export function writeResult({ taskId, state, result }: Task, { stdout, stderr }: Host): number {
  if (result === undefined) {
    stderr.write(`tenure: task ${taskId} has no result: ${reasons[state]}\n`)
    return exitCodes.failed
  }
  stdout.write(result)
  return exitCodes.done
}

const reasons: Readonly<Record<Task['state'], string>> = {
  WAITING: 'it has not run to its end yet. tenure wait waits for it',
  LEASED: 'it has not run to its end yet. tenure wait waits for it',
  COMPLETED: 'its handler gave none',
  FAILED: 'it failed. tenure get says why',
  DEAD: 'it was stopped. tenure get says why',
}
