import { groupBy } from '@tenure/harness'
import type { Parcel } from '../evidence/parcels.js'
import type { ExecutionReturned, ExecutionStarted, WorkerLine } from '../evidence/worker-lines.js'
import { type Forgetting, type History, readHistory } from './history.js'

/** The evidence about some tasks, arranged for the checks. */
export interface Case {
  readonly parcel: Parcel
  readonly history: History
  readonly started: ReadonlyMap<number, readonly ExecutionStarted[]>
  readonly returned: ReadonlyMap<number, readonly ExecutionReturned[]>
  /** By lease, in the order in which its worker wrote them. */
  readonly workerLines: ReadonlyMap<number, readonly WorkerLine[]>
}

export function openCase(parcel: Parcel, forgettings: readonly Forgetting[]): Case {
  const { executions, logged, workerLines } = parcel
  return {
    parcel,
    history: readHistory(logged, forgettings),
    started: byLease(executions.filter((line) => line.what === 'started')),
    returned: byLease(executions.filter((line) => line.what === 'returned')),
    workerLines: byLease(workerLines),
  }
}

function byLease<T extends { readonly leaseId: number }>(items: readonly T[]): Map<number, T[]> {
  return groupBy(items, ({ leaseId }) => leaseId)
}
