import { listFiles, readLines } from './lines.js'

/** A line that a handler writes about its execution. */
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

/** A line of a worker's log that is about a lease. */
export interface WorkerLine {
  readonly worker: string
  readonly taskId: number
  readonly leaseId: number
  readonly what: WorkerWord
  /** In `committed`: the state of the task after the report. */
  readonly state: string | undefined
}

/** The first words of these lines in the log of `tenure-worker`. */
const words = [
  'leased',
  'lease lost',
  'handler ended',
  'handler failed',
  'handler terminated',
  'committed',
  'cancelled',
  'rejected',
  'not reported',
] as const
type WorkerWord = (typeof words)[number]

interface LogLine {
  readonly msg: string
  readonly taskId?: number
  readonly leaseId?: number
  readonly state?: string
}

/** In the order in which each worker wrote them. */
export async function* readWorkerLines(directory: string): AsyncGenerator<WorkerLine> {
  for (const { name, path } of listFiles(directory)) {
    for await (const { msg, taskId, leaseId, state } of readLines<LogLine>(path)) {
      const what = words.find((word) => msg.startsWith(word))
      if (what === undefined || taskId === undefined || leaseId === undefined) continue
      yield { worker: name, taskId, leaseId, what, state }
    }
  }
}
