import { readLines } from './lines.js'

/** A line of a worker's log that is about a lease. */
export interface WorkerLine {
  readonly worker: string
  readonly leaseId: number
  readonly what: WorkerWord
  /** Of `committed`: the state in which the report left the task. */
  readonly state?: string
}

/** By the words that `tenure-worker` begins these lines with. */
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
  readonly leaseId?: number
  readonly state?: string
}

/** In the order in which each worker wrote them. */
export function readWorkerLines(directory: string): WorkerLine[] {
  return readLines(directory).flatMap(({ name, lines }) =>
    (lines as LogLine[]).flatMap(({ msg, leaseId, state }) => {
      const what = words.find((word) => msg.startsWith(word))
      if (what === undefined || leaseId === undefined) return []
      return [{ worker: name, leaseId, what, ...(state !== undefined && { state }) }]
    }),
  )
}
