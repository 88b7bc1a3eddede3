/** Errors of a simulated disk: system errors shaped as Node's, loss of power, and a killed process. */
import { getSystemErrorMap } from 'node:util'
import { type CallDetails, syscalls } from './call.js'

export interface SystemError extends Error {
  readonly code: string
  readonly errno: number
  readonly syscall: string
  readonly path: string
  readonly dest?: string
}

/** The power was lost. `powerLoss` returns the disk as it is found afterwards. */
export class Crashed extends Error {
  readonly code = 'CRASHED'

  constructor() {
    super('the simulated machine has lost its power')
    this.name = 'Crashed'
  }
}

/** The calling process was killed. Only synchronous calls throw this; other calls never resolve. */
export class Killed extends Error {
  readonly code = 'KILLED'

  constructor() {
    super('the simulated process was killed')
    this.name = 'Killed'
  }
}

const known = new Map(
  [...getSystemErrorMap()].map(([errno, [code, description]]) => [code, { errno, description }]),
)

export function assertErrorCode(code: string): void {
  if (!known.has(code)) throw new RangeError(`no such system error: ${code}`)
}

/** The error that Node would throw if this call failed with this code. */
export function systemError(code: string, call: CallDetails): SystemError {
  const { errno, description } = known.get(code) ?? { errno: 0, description: 'unknown error' }
  const syscall = syscalls[call.kind]
  const names = call.to === undefined ? `'${call.path}'` : `'${call.path}' -> '${call.to}'`
  const message = `${code}: ${description}, ${syscall}${namesPath(call) ? ` ${names}` : ''}`
  const facts = { code, errno, syscall, path: call.path }
  return Object.assign(
    new Error(message),
    call.to === undefined ? facts : { ...facts, dest: call.to },
  )
}

/** Node's message contains the path only for calls that take a path. */
function namesPath({ kind }: CallDetails): boolean {
  return ['createDirectory', 'list', 'open', 'rename', 'remove', 'lock', 'freeBytes'].includes(kind)
}
