import { flagOf, printable, variableOf } from '@tenure/app-kit'
import { RejectedError, type TenureError } from '@tenure/client'
import type { Reason, Role } from '@tenure/protocol'
import { exitCodes } from '../command-line.js'

/** A failure for one task that the verb itself detects. */
export class TaskError extends Error {
  readonly code: string
  readonly exitCode: number

  constructor(code: string, message: string, exitCode: number = exitCodes.failed) {
    super(message)
    this.name = 'TaskError'
    this.code = code
    this.exitCode = exitCode
  }
}

/** The error and its remedy in one line. */
export function explain(error: TenureError, role: Role = 'produce'): string {
  const hint = hintFor(error, role)
  return printable(
    hint === undefined ? error.message : `${withoutFullStop(error.message)}. ${hint}`,
  )
}

/** The stable code: of the coordinator's answer, or of the client if there is none. */
export function codeOf(error: TenureError): string {
  return error instanceof RejectedError ? error.reason : error.code
}

/** An invalid argument is a mistake on the command line. */
export function exitCodeOf({ code }: TenureError): number {
  return code === 'CLIENT_BAD_ARGUMENT' ? exitCodes.misconfigured : exitCodes.failed
}

function hintFor(error: TenureError, role: Role): string | undefined {
  const { cause, code, outcomeUnknown, requestId } = error
  if (code === 'CLIENT_UNREACHABLE' && isNotActive(cause)) {
    return `Set ${flagOf('coordinator')} to the addresses of all coordinators, separated by commas.`
  }
  if (code === 'CLIENT_UNREACHABLE') {
    const where = `If it runs elsewhere, set ${flagOf('coordinator')} host:port.`
    return `Is a coordinator running there, and ready (see /readyz)? ${where}`
  }
  if (outcomeUnknown && requestId !== undefined) {
    const again = `submit it again with ${flagOf('requestId')} ${requestId}`
    return `The task may have been submitted; ${again} to make sure without creating a second task.`
  }
  if (!(error instanceof RejectedError)) return undefined
  if (error.retryAfterMs !== undefined) return `Try again in ${error.retryAfterMs} ms.`
  return hints[error.reason]?.(role)
}

function isNotActive(cause: unknown): boolean {
  return cause instanceof RejectedError && cause.reason === 'NOT_ACTIVE'
}

const tokenIn = `${variableOf('token')} or ${flagOf('tokenFile')}`

/** Remedies for rejections that only name the problem. */
const hints: { readonly [R in Reason]?: (role: Role) => string } = {
  UNAUTHORIZED: (role) =>
    `Set a token${role === 'produce' ? '' : ` with the role ${role}`}: ${tokenIn}.`,
  FORBIDDEN: (role) => `Set a token with the role ${role}: ${tokenIn}.`,
  UNKNOWN_TASK: () => 'tenure list shows the known tasks.',
  TASK_TERMINAL: () => 'The task has already ended; tenure get shows how.',
  CONFLICT: () => 'Use another request id, or submit exactly the same task as the first time.',
  TOO_LARGE: () =>
    'Store the data elsewhere and submit a reference, or raise --payload-bytes-max of the coordinator.',
  UNSUPPORTED_VERSION: () => 'Use a tenure of the same release as the coordinator.',
}

export function withoutFullStop(message: string): string {
  return message.replace(/\.$/, '')
}

/** Adds the task id to an UNKNOWN_TASK error. */
export async function withTaskId<T>(taskId: number, answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    if (!(error instanceof RejectedError) || error.reason !== 'UNKNOWN_TASK') throw error
    throw new TaskError(error.reason, `task ${taskId}: ${explain(error)}`)
  }
}
