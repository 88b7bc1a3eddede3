import { Checks } from '@tenure/options'

/** Stable words for what can go wrong; the message beside them may change. */
export type WorkerErrorCode =
  | 'WORKER_BAD_OPTION'
  | 'WORKER_BAD_HANDLER'
  | 'WORKER_PROTOCOL_ERROR'
  | 'WORKER_GAVE_UP'
  | 'WORKER_LEASE_LOST'
  | 'WORKER_WINDOW_OVER'
  | 'WORKER_STOPPING'

/** Every error this package raises on purpose. The last three of its codes are reasons of an abort. */
export class WorkerError extends Error {
  readonly code: WorkerErrorCode

  constructor(code: WorkerErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'WorkerError'
    this.code = code
  }
}

/** Checks what a caller gives. */
export const check = new Checks((message) => new WorkerError('WORKER_BAD_OPTION', message))
