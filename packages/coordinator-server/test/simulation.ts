import { deepStrictEqual, ok, strictEqual } from 'node:assert'
import { protocolVersion } from '@tenure/protocol'
import {
  checkInvariants,
  getTask,
  hashState,
  listTasks,
  position,
  type State,
} from '@tenure/state-machine'
import { Random, SimulatedClock, SimulatedDisk, SimulatedNetwork } from '@tenure/testing'
import { type Clock, type Log, openLog } from '@tenure/wal'
import { Coordinator } from '../src/coordinator.js'
import { DecisionTime } from '../src/decision-time.js'
import { Gate } from '../src/gate.js'
import { defaultKnobs, type Knobs } from '../src/knobs.js'
import { defaultLimits } from '../src/options.js'
import { Peers } from '../src/peers.js'
import { recover } from '../src/recovery.js'
import { WorkerRegistry } from '../src/worker-registry.js'
import { type Life, mortalClock } from './mortal-clock.js'
import { Producer } from './producer.js'
import { ScriptedWorker } from './scripted-worker.js'

const directory = '/data'
const taskCount = 6
const virtualMsMax = 300_000
const knobs: Knobs = {
  ...defaultKnobs,
  leaseDurationMs: 1000,
  heartbeatIntervalMs: 300,
  poisonThreshold: 0,
}

/**
 * A coordinator with its peers on a simulated disk, network and clock, and clients that know what
 * they want. One seed decides everything; power is lost at a disk call that the caller names.
 */
export class Simulation {
  readonly clock = new SimulatedClock({ startMs: 1_700_000_000_000 })
  readonly #random: Random
  readonly #network: SimulatedNetwork
  readonly #producer: Producer
  readonly #workers: readonly ScriptedWorker[]
  readonly #slowDisk: boolean
  readonly #failures: unknown[] = []
  #disk: SimulatedDisk
  #life: Life = { isOver: true }
  #running:
    | { readonly log: Log; readonly state: State; readonly registry: WorkerRegistry }
    | undefined
  crashes = 0
  /** Up to its first crash the run repeats, step by step, one whose invariants have been checked. */
  isRepeated = false
  /** How often the registry, which is advice, is forgotten: with this chance after every step. */
  registryLoss = 0
  readonly #losses = new Random(99)

  /** On a slow disk every write takes some milliseconds, in which anything can happen. */
  constructor(seed: number, disk: 'instant' | 'slow' = 'instant') {
    const random = new Random(seed)
    this.#random = random
    this.#slowDisk = disk === 'slow'
    this.#disk = new SimulatedDisk(
      this.#slowDisk ? { latency: () => this.#pass(random.integer(6)) } : {},
    )
    this.#network = new SimulatedNetwork(this.clock, {
      delayMs: () => random.integer(4),
      pieceBytesMax: () => 1 + random.integer(60),
    })
    this.#producer = new Producer(taskCount, this.clock, this.#network)
    this.#workers = ['w1', 'w2'].map(
      (name) => new ScriptedWorker(name, random, this.clock, this.#network),
    )
  }

  /** How many disk calls the run has made so far, on the disk that is in use. */
  get diskCalls(): number {
    return this.#disk.callCount
  }

  crashAt(diskCall: number, when: 'before' | 'after'): void {
    this.#disk.failCall(diskCall, { kind: 'crash', when })
  }

  /**
   * Runs until every task has ended and everybody has their answer; gives the number of steps. Power
   * is lost after `crashAfterStep` of them.
   */
  async run(crashAfterStep = Number.POSITIVE_INFINITY): Promise<number> {
    await this.#startAgain()
    for (const actor of [this.#producer, ...this.#workers]) actor.connect()
    let steps = 0
    while (!this.#isDone()) {
      if (this.#disk.crashed || steps === crashAfterStep) await this.#crash()
      await this.clock.advanceToNextTimer()
      steps++
      if (this.#losses.chance(this.registryLoss)) this.#running?.registry.clear()
      this.#check()
      ok(this.clock.monotonicMs() < virtualMsMax, 'the work does not come to an end')
    }
    await this.#checkReplay()
    return steps
  }

  async #crash(): Promise<void> {
    this.#losePower()
    await this.clock.advance(this.#random.integer(2000))
    await this.#startAgain()
  }

  #losePower(): void {
    this.crashes++
    this.#life.isOver = true
    this.#running = undefined
    this.#network.breakAll(true)
    this.#disk = this.#disk.powerLoss({ keep: () => this.#random.chance(0.5) })
  }

  /** Starts, and starts again when the power fails while starting. */
  async #startAgain(): Promise<void> {
    for (;;) {
      const start = this.#start().then(
        () => 'started',
        (error: unknown) => error,
      )
      const outcome = await this.#drive(start)
      if (outcome === 'started') return
      if (!this.#disk.crashed) throw outcome
      this.#losePower()
    }
  }

  /** Lets time pass until the work is done. */
  async #drive<T>(work: Promise<T>): Promise<T> {
    let isDone = false
    const done = work.finally(() => {
      isDone = true
    })
    await this.clock.settle()
    while (!isDone && (await this.clock.advanceToNextTimer()));
    return done
  }

  #pass(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.clock.setTimer(ms, resolve)
    })
  }

  async #start(): Promise<void> {
    const life = { isOver: false }
    this.#life = life
    const clock = mortalClock(this.clock, life)
    const log = await this.#openLog(this.#disk, life)
    const state = await recover(log)
    checkInvariants(state)
    this.#checkWitnessed(state)
    const registry = new WorkerRegistry()
    const coordinator = new Coordinator({
      ...{ state, log, clock, registry, knobs, observer: {} },
      time: new DecisionTime(
        clock,
        Math.max(log.recovery.latestClockMs ?? 0, position(state).lastAt),
      ),
      onFailure: (error) => this.#noteFailure(life, error),
    })
    await coordinator.start()
    const { leaseDurationMs, heartbeatIntervalMs } = knobs
    const limits = { frameBytesMax: 1 << 20, payloadBytesMax: 1 << 18, resultBytesMax: 1 << 16 }
    const peers = new Peers(
      {
        ...{ coordinator, registry, gate: new Gate([]), limits: defaultLimits },
        welcome: {
          ...{
            version: protocolVersion,
            epoch: log.recovery.epoch,
            leaseDurationMs,
            heartbeatIntervalMs,
          },
          ...{
            syncMode: 'always',
            limits: {
              ...limits,
              requestsInFlightMax: 100,
              pollsPerConnectionMax: 10,
              waitMsMax: 1000,
            },
          },
        },
        now: () => clock.monotonicMs(),
        time: () => clock.now(),
        soon: (callback) => clock.soon(callback),
        onViolation: (_address, _reason, message) => this.#noteFailure(life, new Error(message)),
      },
      defaultLimits,
    )
    await this.#network.listen((socket) => peers.accept(socket))
    this.#running = { log, state, registry }
  }

  #noteFailure(life: Life, error: unknown): void {
    if (!life.isOver && !this.#disk.crashed) this.#failures.push(error)
  }

  #openLog(disk: SimulatedDisk, life: Life): Promise<Log> {
    return openLog(directory, {
      ...{ disk, clock: this.#clockOfLog(life), segmentBytes: 1 << 16, appendBytesMax: 1 << 14 },
      randomBytes: (count) => new Uint8Array(count).fill(0xa5),
    })
  }

  /** By this clock every write takes long, so that the log writes without waiting for it in its turn. */
  #clockOfLog(life: Life): Clock {
    const clock = mortalClock(this.clock, life)
    if (!this.#slowDisk) return clock
    let slowMs = 0
    const monotonicMs = () => {
      slowMs += 2
      return clock.monotonicMs() + slowMs
    }
    return { ...clock, monotonicMs }
  }

  #isDone(): boolean {
    const state = this.#running?.state
    if (state === undefined || !this.#producer.isDone || this.#disk.crashed) return false
    return [...listTasks(state)].every((task) => task.endedLsn !== undefined)
  }

  #check(): void {
    if (this.#failures.length > 0) throw this.#failures[0]
    const isAsBefore = this.isRepeated && this.crashes === 0 && !this.#disk.crashed
    if (isAsBefore) return
    if (this.#running !== undefined) checkInvariants(this.#running.state)
  }

  /** Everything that anybody was ever told is so. */
  #checkWitnessed(state: State): void {
    for (const [requestId, taskId] of this.#producer.submitted) {
      strictEqual(getTask(state, taskId)?.requestId, requestId)
    }
    for (const worker of this.#workers) {
      for (const { taskId, leaseId } of worker.leases) {
        const attempt = getTask(state, taskId)?.attempts.find(
          (attempt) => attempt.leaseId === leaseId,
        )
        strictEqual(attempt?.workerId, worker.name, `lease ${leaseId} of ${worker.name}`)
      }
      for (const { taskId, leaseId, report, answer } of worker.outcomes) {
        const attempt = getTask(state, taskId)?.attempts.find(
          (attempt) => attempt.leaseId === leaseId,
        )
        if (answer.kind === 'committed') {
          strictEqual(attempt?.outcome, report === 'complete' ? 'COMPLETED' : 'FAILED')
          strictEqual(attempt?.reportId, `report of ${leaseId}`)
        } else {
          strictEqual(answer.kind, 'cancelled', JSON.stringify(answer))
          strictEqual(attempt?.cancelled, true)
        }
      }
    }
  }

  /** A replay of what is on the disk gives the live state. */
  async #checkReplay(): Promise<void> {
    const { state } = this.#running!
    this.#checkWitnessed(state)
    const copy = SimulatedDisk.from(this.#disk.snapshot()).powerLoss({ keep: () => false })
    const log = await this.#drive(this.#openLog(copy, { isOver: false }))
    const replayed = await this.#drive(recover(log))
    strictEqual(hashState(replayed), hashState(state))
    deepStrictEqual([...listTasks(replayed)], [...listTasks(state)])
    await this.#drive(log.close())
  }
}
