import type { TaskState } from '@tenure/client'
import { type ExecutionLine, readExecutions } from './executions.js'
import type { Places } from './fleet.js'
import { readLines } from './lines.js'
import { type Logged, readLog } from './log-records.js'
import type { Metrics } from './metrics.js'
import { readWorkerLines, type WorkerLine } from './worker-lines.js'

/** Everything that somebody has seen, each by itself: what is checked is that it fits together. */
export interface Evidence {
  /** Of the submissions, by number: the task that was acknowledged. */
  readonly acknowledged: ReadonlyMap<number, number>
  /** What handlers wrote about their executions. */
  readonly executions: readonly ExecutionLine[]
  /** What workers wrote about their leases. */
  readonly workerLines: readonly WorkerLine[]
  /** What the coordinator said at last about its tasks and about itself. */
  readonly live: ReadonlyMap<number, TaskState>
  readonly metrics: Metrics
  /** How often it was launched; and, of those times that it said it had started, the epochs. */
  readonly coordinatorLives: number
  readonly epochs: readonly number[]
  /** What the log says. */
  readonly logged: readonly Logged[]
}

/** To be called when nothing runs any more. */
export async function gatherEvidence(
  places: Places,
  seen: Pick<Evidence, 'acknowledged' | 'live' | 'metrics' | 'coordinatorLives'>,
): Promise<Evidence> {
  return {
    ...seen,
    executions: readExecutions(places.executions),
    workerLines: readWorkerLines(places.workers),
    epochs: readEpochs(places.coordinator),
    logged: await readLog(places.data),
  }
}

interface StartedLine {
  readonly msg: string
  readonly epoch: number
}

function readEpochs(directory: string): number[] {
  const lines = readLines(directory).flatMap(({ lines }) => lines as StartedLine[])
  return lines.filter(({ msg }) => msg === 'started').map(({ epoch }) => epoch)
}
