import { flagOf, printable, variableOf } from '@tenure/app-kit'
import { RejectedError, type TenureError } from '@tenure/client'
import type { Reason, Role } from '@tenure/protocol'
import { exitCodes } from '../command-line.js'

/** Why something is not done to a task, in our own words. */
export class Refusal extends Error {
  readonly code: string
  readonly exitCode: number

  constructor(code: string, message: string, exitCode: number = exitCodes.failed) {
    super(message)
    this.name = 'Refusal'
    this.code = code
    this.exitCode = exitCode
  }
}

/** What went wrong and what to do, in one line. */
export function explain(error: TenureError, role: Role = 'produce'): string {
  const hint = hintFor(error, role)
  return printable(hint === undefined ? error.message : `${withoutStop(error.message)}. ${hint}`)
}

/** A word for programs: that of the coordinator, or of the client where it did not answer. */
export function codeOf(error: TenureError): string {
  return error instanceof RejectedError ? error.reason : error.code
}

/** A call that could not be one is a mistake in what was typed. */
export function exitCodeOf({ code }: TenureError): number {
  return code === 'CLIENT_BAD_ARGUMENT' ? exitCodes.misconfigured : exitCodes.failed
}

function hintFor(error: TenureError, role: Role): string | undefined {
  const { code, outcomeUnknown, requestId } = error
  if (code === 'CLIENT_UNREACHABLE') {
    const where = `If it runs elsewhere, say where: ${flagOf('coordinator')} host:port.`
    return `Is a coordinator running there, and ready (/readyz tells)? ${where}`
  }
  if (outcomeUnknown && requestId !== undefined) {
    const again = `submit it again with ${flagOf('requestId')} ${requestId}`
    return `Whether the task was submitted is not known; ${again}, and there will be one task.`
  }
  if (!(error instanceof RejectedError)) return undefined
  if (error.retryAfterMs !== undefined) return `Try again in ${error.retryAfterMs} ms.`
  return hints[error.reason]?.(role)
}

const tokenIn = `${variableOf('token')} or ${flagOf('tokenFile')}`

/** Of a refusal that says what is wrong, and not what to do. */
const hints: { readonly [R in Reason]?: (role: Role) => string } = {
  UNAUTHORIZED: (role) =>
    `Give it a token${role === 'produce' ? '' : ` with the role ${role}`}: ${tokenIn}.`,
  FORBIDDEN: (role) => `Give it a token with the role ${role}: ${tokenIn}.`,
  UNKNOWN_TASK: () => 'tenure list shows those there are.',
  TASK_TERMINAL: () => 'There is nothing to stop; tenure get shows how it ended.',
  CONFLICT: () =>
    'Give this task a request id of its own, or submit exactly the same as the first time.',
  TOO_LARGE: () =>
    'Put the data elsewhere and submit its place, or raise --payload-bytes-max of the coordinator.',
  UNSUPPORTED_VERSION: () => 'Use the tenure of the same release as the coordinator.',
}

export function withoutStop(message: string): string {
  return message.replace(/\.$/, '')
}

/** An answer about one task. Where there is no such task, it is said which one. */
export async function aboutTask<T>(taskId: number, answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    if (!(error instanceof RejectedError) || error.reason !== 'UNKNOWN_TASK') throw error
    throw new Refusal(error.reason, `task ${taskId}: ${explain(error)}`)
  }
}
