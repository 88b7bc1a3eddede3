import type { LeaseGranted } from '@tenure/state-machine'
import { byEligibility, firstEligible } from '@tenure/testing'
import { holds } from '../violation.js'
import type { Ledger } from './ledger.js'

/** How many batches may lie between what a decision saw and the one that carries it. */
const batchesBehind = 3

/**
 * `semantics` §10: of the tasks that were eligible the first one is granted. What records on their way
 * say was not seen by the decision, so tasks that they are about may have been passed over.
 */
export class LeaseOrder {
  readonly #ledger: Ledger
  /** Where the last batches ended. */
  readonly #ends: number[]

  /** Of one life of a coordinator, which begins behind this LSN. */
  constructor(ledger: Ledger, lastLsn: number) {
    this.#ledger = ledger
    this.#ends = [lastLsn]
  }

  committed(records: number): void {
    if (records > 0) this.#ends.push(this.#ends.at(-1)! + records)
    if (this.#ends.length > batchesBehind + 1) this.#ends.shift()
  }

  /** To be asked before the grant is applied. `queues` are those that its worker serves. */
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
    holds(isInTurn, 'tasks are leased in their order', () => {
      return `lease ${leaseId} is of task ${taskId}, and task ${first?.taskId} was before it`
    })
  }
}
