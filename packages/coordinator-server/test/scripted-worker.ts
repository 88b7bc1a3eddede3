import type { Answer, Leased } from '@tenure/protocol'
import type { Random, SimulatedClock, SimulatedNetwork } from '@tenure/testing'
import { Actor, type Asking } from './actor.js'

/** A report that a worker was told about. */
export interface Outcome {
  readonly taskId: number
  readonly leaseId: number
  readonly report: 'complete' | 'fail'
  readonly answer: Answer
}

/**
 * Leases one task after the other. Of each it completes some, fails some, and stalls over some until
 * its lease is long gone; and it reports, until it is answered.
 */
export class ScriptedWorker extends Actor {
  readonly leases: Leased[] = []
  readonly outcomes: Outcome[] = []
  readonly #random: Random
  #report:
    | { readonly asking: Asking; readonly lease: Leased; readonly kind: 'complete' | 'fail' }
    | undefined
  #isWorking = false

  constructor(name: string, random: Random, clock: SimulatedClock, network: SimulatedNetwork) {
    super(name, 'work', clock, network)
    this.#random = random
  }

  protected onOpen(): void {
    if (this.#report !== undefined) this.#sendReport()
    else if (!this.#isWorking) this.#lease()
  }

  #lease(): void {
    this.ask({ kind: 'lease', queues: ['default'], waitMs: 400 }, (answer) => {
      if (answer.kind === 'leased') this.#work(answer)
      else this.clock.setTimer(20, () => this.onOpen())
    })
  }

  #work(lease: Leased): void {
    const last = this.leases.at(-1)
    if (last !== undefined && lease.leaseId <= last.leaseId) {
      throw new Error(`lease ${lease.leaseId} came after lease ${last.leaseId}`)
    }
    this.leases.push(lease)
    this.#isWorking = true
    const workMs = this.#random.pick([1, 100, 900, 1500])
    for (let at = 300; at < workMs; at += 300) this.clock.setTimer(at, () => this.#beat(lease))
    this.clock.setTimer(workMs, () => this.#finish(lease))
  }

  #beat({ taskId, leaseId }: Leased): void {
    if (this.#random.chance(0.7)) this.ask({ kind: 'heartbeat', taskId, leaseId }, () => {})
  }

  #finish(lease: Leased): void {
    const { taskId, leaseId } = lease
    const reportId = `report of ${leaseId}`
    const kind = this.#random.chance(0.3) ? 'fail' : 'complete'
    const asking: Asking =
      kind === 'fail'
        ? { kind, taskId, leaseId, reportId, reason: 'by chance' }
        : { kind, taskId, leaseId, reportId, result: Buffer.from(`of ${leaseId}`) }
    this.#isWorking = false
    this.#report = { asking, lease, kind }
    this.#sendReport()
  }

  #sendReport(): void {
    const report = this.#report
    if (report === undefined) return
    this.ask(report.asking, (answer) => {
      if (answer.kind === 'rejected' && answer.reason === 'STOPPING') return
      const { taskId, leaseId } = report.lease
      this.outcomes.push({ taskId, leaseId, report: report.kind, answer })
      this.#report = undefined
      this.onOpen()
    })
  }
}
