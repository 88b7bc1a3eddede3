import { type Host, printable } from '@tenure/app-kit'
import { RejectedError } from '@tenure/client'
import type { Reason } from '@tenure/protocol'
import { exitCodes } from '../command-line.js'
import { explain, TaskError } from '../coordinator/errors.js'
import { toJsonLine } from '../terminal/json.js'

/** An action on one task. Throws a `TaskError` if the task does not allow it. */
export interface TaskAction<T extends object> {
  act(taskId: number): Promise<T>
  /** Describes the outcome in one line. */
  show(taskId: number, outcome: T): string
  /** `false` makes the exit code 1. */
  isGood?(outcome: T): boolean
}

/**
 * Acts on one task after the other. A rejection of one does not stop the others; a lost connection
 * does, and the remaining task ids are printed.
 */
export async function forEachTask<T extends object>(
  taskIds: readonly number[],
  action: TaskAction<T>,
  host: Host,
  json: boolean,
): Promise<number> {
  let code: number = exitCodes.done
  for (const [at, taskId] of taskIds.entries()) {
    try {
      const outcome = await action.act(taskId)
      const line = `${printable(action.show(taskId, outcome))}\n`
      host.stdout.write(json ? toJsonLine({ taskId, ...outcome }) : line)
      if (action.isGood?.(outcome) === false) code = Math.max(code, exitCodes.failed)
    } catch (error) {
      const refusal = failureOf(error)
      if (refusal === undefined) throw describeLeft(error, taskIds.slice(at), host)
      const { exitCode, ...why } = refusal
      if (json) host.stdout.write(toJsonLine({ taskId, error: why }))
      host.stderr.write(`tenure: task ${taskId}: ${printable(why.message)}\n`)
      code = Math.max(code, exitCode)
    }
  }
  return code
}

function describeLeft(error: unknown, left: readonly number[], { stderr }: Host): unknown {
  if (left.length > 1) stderr.write(`tenure: not done, or outcome unknown: ${left.join(' ')}\n`)
  return error
}

interface FailedTask {
  readonly code: string
  readonly message: string
  readonly exitCode: number
}

/** `undefined` for an error that would affect every further task, too. */
function failureOf(error: unknown): FailedTask | undefined {
  const exitCode = exitCodes.failed
  if (error instanceof TaskError) {
    return { code: error.code, message: error.message, exitCode: error.exitCode }
  }
  if (error instanceof RejectedError && !endsAll.includes(error.reason)) {
    return { code: error.reason, message: explain(error), exitCode }
  }
  return undefined
}

const endsAll: readonly Reason[] = ['FORBIDDEN', 'UNAUTHORIZED', 'STOPPING', 'INTERNAL']
