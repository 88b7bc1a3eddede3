/** What handlers say of themselves. */
export type ExecutionLine = ExecutionStarted | ExecutionReturned

export interface ExecutionStarted {
  readonly what: 'started'
  readonly taskId: number
  readonly attempt: number
  readonly leaseId: number
  readonly worker: string
}

export interface ExecutionReturned {
  readonly what: 'returned'
  readonly taskId: number
  readonly leaseId: number
  readonly result: string
}
