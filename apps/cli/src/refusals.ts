import { exitCodes, flagOf, variableOf } from '@tenure/app-kit'
import { RejectedError, type TenureError } from '@tenure/client'
import { printable } from './show/printable.js'

/** What went wrong and what to do, in one line. */
export function explain(error: TenureError): string {
  const hint = hintFor(error)
  return printable(hint === undefined ? error.message : `${withoutStop(error.message)}. ${hint}`)
}

/** A call that could not be one is a mistake in what was typed. */
export function exitCodeOf({ code }: TenureError): number {
  return code === 'CLIENT_BAD_ARGUMENT' ? exitCodes.misconfigured : exitCodes.failed
}

function hintFor(error: TenureError): string | undefined {
  const { code, outcomeUnknown, requestId } = error
  if (code === 'CLIENT_UNREACHABLE') {
    return `Is a coordinator running there? Else say where: ${flagOf('coordinator')} host:port.`
  }
  if (outcomeUnknown && requestId !== undefined) {
    const again = `submit it again with ${flagOf('requestId')} ${requestId}`
    return `Whether the task was submitted is not known; ${again}, and there will be one task.`
  }
  if (!(error instanceof RejectedError)) return undefined
  if (error.reason === 'UNAUTHORIZED') {
    return `Give it a token: ${variableOf('token')} or ${flagOf('tokenFile')}.`
  }
  return error.retryAfterMs === undefined ? undefined : `Try again in ${error.retryAfterMs} ms.`
}

function withoutStop(message: string): string {
  return message.replace(/\.$/, '')
}
