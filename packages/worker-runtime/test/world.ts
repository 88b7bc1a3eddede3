import type { Leased } from '@tenure/protocol'
import type { Clock } from '@tenure/seams'
import { SimulatedClock, SimulatedNetwork } from '@tenure/testing'
import { startWorker, Worker, type WorkerObserver, type WorkerOptions } from '../src/index.js'
import { ManualIsolation, type ManualRun } from './manual-isolation.js'
import { type CoordinatorOptions, ScriptedCoordinator } from './scripted-coordinator.js'
import { simulatedTransport } from './simulated-transport.js'

export type Hook = keyof WorkerObserver

/** What the coordinator allows a lease unless a test says otherwise. */
export const leaseMs = 30_000
export const windowMs = 600_000
/** A lease that was granted when it was asked for ends for its worker after so long. */
export const deadlineMs = leaseMs - 2
export const heartbeatMs = 10_000

/**
 * A worker, a network and a coordinator. No time passes but by `advance`, and what travels travels
 * in no time unless `delayMs` says otherwise. The two clocks do not drift, so that the times in a
 * test are those of its drawing.
 */
export class World {
  readonly clock = new SimulatedClock()
  readonly network: SimulatedNetwork
  readonly coordinator: ScriptedCoordinator
  readonly isolation = new ManualIsolation()
  /** Every hook that was called, with what it was told. */
  readonly told: { readonly hook: Hook; readonly args: readonly unknown[] }[] = []
  /** How long a message travels. */
  delayMs = 0
  readonly #options: Partial<WorkerOptions>
  readonly #abort = new AbortController()
  #worker: Worker | undefined
  #tasks = 0
  #ids = 0
  #stalledMs = 0

  constructor(options: Partial<WorkerOptions> = {}, coordinatorOptions: CoordinatorOptions = {}) {
    this.#options = options
    this.network = new SimulatedNetwork(this.clock, { delayMs: () => this.delayMs })
    this.coordinator = new ScriptedCoordinator(this.clock, this.network, coordinatorOptions)
  }

  /** A world whose worker asks for tasks. */
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

  /** A worker that has yet to start. */
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
      transport: simulatedTransport(this.network, this.clock),
      random: { next: () => 0, id: () => `id-${++this.#ids}` },
      observer: this.#observer(),
      ...this.#options,
    }
  }

  /** Nobody waits for the start any more. */
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

  /** Everything that can happen now happens. */
  rest(): Promise<void> {
    return this.clock.advance(0)
  }

  /** The worker's loop stands still for so long: time passes and none of its timers run. */
  stall(ms: number): void {
    this.#stalledMs += ms
  }

  /** Answers the oldest poll with a task; the handler that runs it. */
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

  /** Answers the oldest heartbeat: the lease holds so much longer. */
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

  /** Every connection breaks. The worker knows; it connects again after 50 ms. */
  async cut(): Promise<void> {
    this.network.breakAll()
    await this.rest()
  }

  /** With what the hook was called, each time. */
  calls(hook: Hook): (readonly unknown[])[] {
    return this.told.filter((one) => one.hook === hook).map(({ args }) => args)
  }

  /** The one argument behind the task, each time: an answer's or an error's word. */
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

  /** Has every hook there is. */
  #observer(): WorkerObserver {
    const tell =
      (hook: Hook) =>
      (...args: unknown[]) =>
        this.told.push({ hook, args })
    return new Proxy({}, { get: (_, hook) => tell(hook as Hook) })
  }

  /** Lets the worker stop, whatever time it takes. */
  async stop(): Promise<void> {
    const stopping = this.worker.stop()
    while (this.worker.mode !== 'stopped') {
      if (!(await this.clock.advanceToNextTimer())) break
    }
    await stopping
  }

  /** A worker that has stopped leaves no timer behind. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort()
    if (this.#worker !== undefined) await this.stop()
    // What is still on its way through the network arrives nowhere.
    await this.advance(this.delayMs)
    if (this.clock.timers > 0) {
      throw new Error(`the worker left a timer behind, due in ${this.clock.nextTimerMs} ms`)
    }
  }
}
