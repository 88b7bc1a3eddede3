import { startWorker, type Worker, type WorkerObserver } from '@tenure/worker-runtime'
import type { WorkerPlan } from '../scenario/scenario.js'
import { Handlers } from './handlers.js'
import type { Machine } from './machine.js'
import { Process } from './process.js'
import { Seat } from './seat.js'
import type { Stage } from './stage.js'

/**
 * Worker processes, one after the other. Each has a name of its own, and its leases end with it.
 */
export class WorkerSeat extends Seat {
  readonly #plan: WorkerPlan
  #lives = 0
  #process: Process | undefined
  #worker: Worker | undefined
  #isShutDown = false

  constructor(stage: Stage, machines: readonly Machine[], number: number, plan: WorkerPlan) {
    super(stage, machines, `worker ${number}`)
    this.#plan = plan
  }

  get isStopped(): boolean {
    return this.#isShutDown && this.#process === undefined
  }

  start(): void {
    if (this.#process !== undefined || this.#isShutDown) return
    const { stage } = this
    const { concurrency, queues, pollWaitMs, clockRate } = this.#plan
    const name = `${this.address}.${++this.#lives}`
    const process = new Process(stage.clock, clockRate)
    this.#process = process
    stage.serves(name, queues)
    const isolation = new Handlers({
      process,
      owners: stage.owners,
      lifeOf: (leaseId) => stage.lifeOf(leaseId),
      watch: (look) => stage.watch(look),
      onTerminated: () => stage.probes.reach('a handler was terminated'),
    })
    const worker = startWorker({
      ...this.link(name, process),
      isolation,
      concurrency,
      queues,
      pollWaitMs,
      abortGraceMs: 200,
      drainGraceMs: 2000,
      observer: this.#observer(),
    })
    stage.wait(
      worker.then((started) => {
        if (this.#process !== process) return
        this.#worker = started
        if (this.#isShutDown) this.#stopWorker(process, started, 0)
      }),
    )
  }

  get isRunning(): boolean {
    return this.#process !== undefined
  }

  kill(downMs: number): void {
    if (this.#process === undefined) return
    this.#gone(this.#process, downMs)
    for (const { near } of this.connections) near.destroy()
  }

  stop(downMs: number): void {
    if (this.#worker !== undefined && this.#process !== undefined) {
      this.#stopWorker(this.#process, this.#worker, downMs)
    }
  }

  shutDown(): void {
    this.#isShutDown = true
    this.stop(0)
  }

  /** Returns false if no process is running. */
  pause(): boolean {
    return this.#process?.pause() ?? false
  }

  resume(): void {
    this.#process?.resume()
  }

  #stopWorker(process: Process, worker: Worker, downMs: number): void {
    this.stage.wait(
      worker.stop().then(() => {
        if (this.#process === process) this.#gone(process, downMs)
      }),
    )
  }

  #gone(process: Process, downMs: number): void {
    process.end()
    this.#process = undefined
    this.#worker = undefined
    this.stage.after(downMs, () => this.start())
  }

  #observer(): WorkerObserver {
    const { stage } = this
    const { events, probes } = stage
    return {
      leased: ({ leaseId }) => events.add(`${this.address} has lease ${leaseId}`),
      extended: ({ taskId, leaseId }) => {
        // The grant announced the end of the window, so the time is measured from the grant.
        if (stage.ledger.endsWithWindow(taskId, leaseId)) return
        stage.owners.toldAgain(leaseId, stage.lifeOf(leaseId))
      },
      leaseLost: ({ leaseId }, why) => {
        events.add(`${this.address} lost lease ${leaseId}: ${why}`)
        if (why === 'DEADLINE') probes.reach('a worker lost its lease by its own clock')
        else probes.reach('a worker was told that its lease is lost')
      },
      reportedLate: ({ leaseId }) => {
        events.add(`${this.address} reports ${leaseId} after its deadline`)
        probes.reach('a result was sent after its deadline')
      },
      unreported: ({ leaseId }, why) => {
        events.add(`${this.address} did not report ${leaseId}: ${why}`)
        if (why === 'UNKNOWN') probes.reach('a report was never answered')
      },
      rejected: ({ leaseId }, { reason }, what) =>
        stage.watch(() => stage.refused(`${this.address}, ${what} of lease ${leaseId}`, reason)),
      protocolError: ({ reason }, what) =>
        stage.watch(() => stage.refused(`${this.address}, ${what}`, reason)),
    }
  }
}
