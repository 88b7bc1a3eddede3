import type { Leased } from '@tenure/protocol'
import type { Clock } from '@tenure/seams'
import { SimulatedClock, SimulatedNetwork } from '@tenure/testing'
import { startWorker, Worker, type WorkerObserver, type WorkerOptions } from '../src/index.js'
import { ManualIsolation, type ManualRun } from './manual-isolation.js'
import { type CoordinatorOptions, ScriptedCoordinator } from './scripted-coordinator.js'
import { simulatedTransport } from './simulated-transport.js'

export type Hook = keyof WorkerObserver

/** The lease terms that the coordinator grants by default. */
export const leaseMs = 30_000
export const windowMs = 600_000
/** Time from the request to the worker's deadline, for a lease granted immediately. */
export const deadlineMs = leaseMs - 2
export const heartbeatMs = 10_000

/**
 * A worker, a network and a coordinator. Time passes only through `advance`, and messages travel in no
 * time unless `delayMs` is set. The two clocks do not drift.
 */
export class World {
  readonly clock = new SimulatedClock()
  readonly network: SimulatedNetwork
  readonly coordinator: ScriptedCoordinator
  readonly #otherNetwork: SimulatedNetwork
  /** A second coordinator, for workers with the endpoint `other:7411`. */
  readonly other: ScriptedCoordinator
  readonly isolation = new ManualIsolation()
  /** Every hook call, with its arguments. */
  readonly told: { readonly hook: Hook; readonly args: readonly unknown[] }[] = []
  /** Travel time of a message. */
  delayMs = 0
  readonly #options: Partial<WorkerOptions>
  readonly #abort = new AbortController()
  #worker: Worker | undefined
  #tasks = 0
  #ids = 0
  #stalledMs = 0

  constructor(options: Partial<WorkerOptions> = {}, coordinatorOptions: CoordinatorOptions = {}) {
    this.#options = options
    const delayMs = () => this.delayMs
    this.network = new SimulatedNetwork(this.clock, { delayMs })
    this.coordinator = new ScriptedCoordinator(this.clock, this.network, coordinatorOptions)
    this.#otherNetwork = new SimulatedNetwork(this.clock, { delayMs })
    this.other = new ScriptedCoordinator(this.clock, this.#otherNetwork, coordinatorOptions)
  }

  /** A world whose worker is started. */
  static async create(
    options: Partial<WorkerOptions> = {},
    coordinatorOptions: CoordinatorOptions = {},
  ): Promise<World> {
    const world = new World(options, coordinatorOptions)
    const starting = world.start()
    await world.rest()
    world.#worker = await starting
    return world
  }

  async start(): Promise<Worker> {
    return await startWorker(this.#workerOptions(), { signal: this.#abort.signal })
  }

  /** A worker that has not started yet. */
  make(): Worker {
    return new Worker(this.#workerOptions())
  }

  #workerOptions(): WorkerOptions {
    return {
      endpoints: ['coordinator:7411'],
      name: 'me',
      concurrency: 1,
      clockDrift: 0,
      isolation: this.isolation,
      clock: this.#workerClock(),
      transport: simulatedTransport(
        (host) => (host === 'other' ? this.#otherNetwork : this.network),
        this.clock,
      ),
      random: { next: () => 0, id: () => `id-${++this.#ids}` },
      observer: this.#observer(),
      ...this.#options,
    }
  }

  /** Aborts the signal of the start. */
  abort(): void {
    this.#abort.abort()
  }

  get worker(): Worker {
    if (this.#worker === undefined) throw new Error('the worker has not started')
    return this.#worker
  }

  get now(): number {
    return this.clock.monotonicMs()
  }

  advance(ms: number): Promise<void> {
    return this.clock.advance(ms)
  }

  /** Runs everything that can happen without time passing. */
  rest(): Promise<void> {
    return this.clock.advance(0)
  }

  /** Blocks the worker's loop: time passes, but none of its timers run. */
  stall(ms: number): void {
    this.#stalledMs += ms
  }

  /** Answers the oldest poll with a task. Returns the handler that runs it. */
  async grant(terms: Partial<Leased> = {}): Promise<ManualRun> {
    const { runs } = this.isolation
    const before = runs.length
    this.answerPoll(terms)
    await this.rest()
    const run = runs[before]
    if (run === undefined) throw new Error('the task was not run')
    return run
  }

  answerPoll(terms: Partial<Leased> = {}): void {
    const asked = this.coordinator.take('lease')
    const number = ++this.#tasks
    const leasedMs = terms.leaseMs ?? leaseMs
    asked.answer({
      kind: 'leased',
      taskId: number,
      leaseId: 100 + number,
      attempt: 1,
      queue: 'default',
      payload: Buffer.from(`task ${number}`),
      heldMs: this.now - asked.arrivedAtMs,
      leaseMs: leasedMs,
      leaseExpiry: this.clock.now() + leasedMs,
      windowMs,
      windowEnd: this.clock.now() + windowMs,
      ...terms,
    })
  }

  /** Answers the oldest heartbeat with an extension of the lease. */
  async extend(forMs = leaseMs): Promise<void> {
    const asked = this.coordinator.take('heartbeat')
    asked.answer({
      kind: 'extended',
      heldMs: this.now - asked.arrivedAtMs,
      leaseMs: forMs,
      windowMs,
      leaseExpiry: this.clock.now() + forMs,
      windowEnd: this.clock.now() + windowMs,
    })
    await this.rest()
  }

  /** Breaks all connections of `coordinator`. The worker notices, and reconnects after 50 ms. */
  async cut(): Promise<void> {
    this.network.breakAll()
    await this.rest()
  }

  /** The arguments of each call of the hook. */
  calls(hook: Hook): (readonly unknown[])[] {
    return this.told.filter((one) => one.hook === hook).map(({ args }) => args)
  }

  /** The argument after the task, for each call of the hook. */
  words(hook: Hook): unknown[] {
    return this.calls(hook).map(([, word]) => word)
  }

  #workerClock(): Clock {
    return {
      now: () => this.clock.now() + this.#stalledMs,
      monotonicMs: () => this.clock.monotonicMs() + this.#stalledMs,
      setTimer: (delayMs, callback) => this.clock.setTimer(delayMs, callback),
      soon: (callback) => this.clock.soon(callback),
    }
  }

  /** An observer with every hook. */
  #observer(): WorkerObserver {
    const tell =
      (hook: Hook) =>
      (...args: unknown[]) =>
        this.told.push({ hook, args })
    return new Proxy({}, { get: (_, hook) => tell(hook as Hook) })
  }

  /** Stops the worker and advances the clock until it has stopped. */
  async stop(): Promise<void> {
    const stopping = this.worker.stop()
    while (this.worker.mode !== 'stopped') {
      if (!(await this.clock.advanceToNextTimer())) break
    }
    await stopping
  }

  /** Checks that the stopped worker leaves no timer. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort()
    if (this.#worker !== undefined) await this.stop()
    // Lets messages that are still travelling arrive.
    await this.advance(this.delayMs)
    if (this.clock.timers > 0) {
      throw new Error(`the worker left a timer behind, due in ${this.clock.nextTimerMs} ms`)
    }
  }
}
