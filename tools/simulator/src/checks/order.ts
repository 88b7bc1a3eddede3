import type { LeaseGranted } from '@tenure/state-machine'
import { byEligibility, firstEligible } from '@tenure/testing'
import { holds } from '../violation.js'
import type { Ledger } from './ledger.js'

/**
 * Maximum number of batches between the state that a decision saw and the batch with its record.
 */
const batchesBehind = 3

/**
 * `semantics` §10: the first eligible task is granted. A decision did not see the records in
 * flight, so it may have passed over their tasks.
 */
export class LeaseOrder {
  readonly #ledger: Ledger
  /** The last LSNs of the latest batches. */
  readonly #ends: number[]

  /** Covers one life of a coordinator, which starts after this LSN. */
  constructor(ledger: Ledger, lastLsn: number) {
    this.#ledger = ledger
    this.#ends = [lastLsn]
  }

  committed(records: number): void {
    if (records > 0) this.#ends.push(this.#ends.at(-1)! + records)
    if (this.#ends.length > batchesBehind + 1) this.#ends.shift()
  }

  /** Call it before the grant is applied. `queues` are those that its worker serves. */
  check({ taskId, leaseId, at }: LeaseGranted, queues: readonly string[]): void {
    const { naive } = this.#ledger
    if (naive.nextEligible(queues, at) === taskId) return
    const unseen = new Set<number | undefined>()
    for (let lsn = this.#ends[0]! + 1; lsn < leaseId; lsn++) {
      unseen.add(this.#ledger.taskOf(this.#ledger.record(lsn)!))
    }
    const granted = naive.task(taskId)
    const first = firstEligible(naive.tasks(), at, (task) => {
      return queues.includes(task.queue) && !unseen.has(task.taskId)
    })
    const isInTurn =
      first === undefined || granted?.state !== 'WAITING' || byEligibility(granted, first) <= 0
    holds(isInTurn, 'tasks are leased in order', () => {
      return `lease ${leaseId} was granted for task ${taskId}, but task ${first?.taskId} was first`
    })
  }
}
