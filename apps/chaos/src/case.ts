import type { Evidence } from './evidence.js'
import type { ExecutionReturned, ExecutionStarted } from './executions.js'
import { type History, readHistory } from './history.js'
import type { WorkerLine } from './worker-lines.js'

/** The evidence, in the order in which the checks ask for it. */
export interface Case {
  readonly evidence: Evidence
  readonly history: History
  readonly started: ReadonlyMap<number, readonly ExecutionStarted[]>
  readonly returned: ReadonlyMap<number, readonly ExecutionReturned[]>
  /** By lease, in the order in which its worker wrote them. */
  readonly workerLines: ReadonlyMap<number, readonly WorkerLine[]>
}

export function openCase(evidence: Evidence): Case {
  const { executions, logged, workerLines } = evidence
  return {
    evidence,
    history: readHistory(logged),
    started: byLease(executions.filter((line) => line.what === 'started')),
    returned: byLease(executions.filter((line) => line.what === 'returned')),
    workerLines: byLease(workerLines),
  }
}

function byLease<T extends { readonly leaseId: number }>(items: readonly T[]): Map<number, T[]> {
  const groups = new Map<number, T[]>()
  for (const item of items) {
    const group = groups.get(item.leaseId)
    if (group === undefined) groups.set(item.leaseId, [item])
    else group.push(item)
  }
  return groups
}
