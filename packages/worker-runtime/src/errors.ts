import { Checks } from '@tenure/options'

/** Stable error codes. The messages may change. */
export type WorkerErrorCode =
  | 'WORKER_BAD_OPTION'
  | 'WORKER_BAD_HANDLER'
  | 'WORKER_PROTOCOL_ERROR'
  | 'WORKER_GAVE_UP'
  | 'WORKER_OTHER_LOG'
  | 'WORKER_LEASE_LOST'
  | 'WORKER_WINDOW_OVER'
  | 'WORKER_STOPPING'

/** Every error that this package throws on purpose. The last three codes are abort reasons. */
export class WorkerError extends Error {
  readonly code: WorkerErrorCode

  constructor(code: WorkerErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'WorkerError'
    this.code = code
  }
}

/** Checks the options of a worker. */
export const check = new Checks((message) => new WorkerError('WORKER_BAD_OPTION', message))
