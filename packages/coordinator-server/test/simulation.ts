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
import { type Log, openLog } from '@tenure/wal'
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
  #disk = new SimulatedDisk()
  #life: Life = { isOver: true }
  #running: { readonly log: Log; readonly state: State } | undefined
  crashes = 0

  constructor(seed: number) {
    const random = new Random(seed)
    this.#random = random
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

  /** Runs until every task has ended and everybody has their answer. */
  async run(): Promise<void> {
    await this.#startAgain()
    for (const actor of [this.#producer, ...this.#workers]) actor.connect()
    while (!this.#isDone()) {
      if (this.#disk.crashed) await this.#crash()
      await this.clock.advanceToNextTimer()
      if (!this.#life.isOver) this.#check()
      ok(this.clock.monotonicMs() < virtualMsMax, 'the work does not come to an end')
    }
    await this.#checkReplay()
  }

  async #crash(): Promise<void> {
    this.crashes++
    this.#life.isOver = true
    this.#running = undefined
    this.#network.breakAll(true)
    this.#disk = this.#disk.powerLoss({ keep: () => this.#random.chance(0.5) })
    await this.clock.advance(this.#random.integer(2000))
    await this.#startAgain()
  }

  /** Starts, and starts again when the power fails while starting. */
  async #startAgain(): Promise<void> {
    for (;;) {
      try {
        await this.#start()
        return
      } catch (error) {
        if (!this.#disk.crashed) throw error
        this.crashes++
        this.#life.isOver = true
        this.#network.breakAll(true)
        this.#disk = this.#disk.powerLoss({ keep: () => this.#random.chance(0.5) })
      }
    }
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
    const failed: unknown[] = []
    const coordinator = new Coordinator({
      ...{ state, log, clock, registry, knobs, observer: {} },
      time: new DecisionTime(
        clock,
        Math.max(log.recovery.latestClockMs ?? 0, position(state).lastAt),
      ),
      onFailure: (error) => failed.push(error),
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
            limits: { ...limits, requestsInFlightMax: 100, waitMsMax: 1000 },
          },
        },
        unsentBytesMax: 1 << 20,
        now: () => clock.monotonicMs(),
        onViolation: (_address, _reason, message) => failed.push(new Error(message)),
      },
      defaultLimits,
    )
    await this.#network.listen((socket) => peers.accept(socket))
    this.#running = { log, state }
    if (failed.length > 0 && !this.#disk.crashed) throw failed[0]
  }

  #openLog(disk: SimulatedDisk, life: Life): Promise<Log> {
    return openLog(directory, {
      ...{
        disk,
        clock: mortalClock(this.clock, life),
        segmentBytes: 1 << 16,
        appendBytesMax: 1 << 14,
      },
      randomBytes: (count) => new Uint8Array(count).fill(0xa5),
    })
  }

  #isDone(): boolean {
    const state = this.#running?.state
    if (state === undefined || !this.#producer.isDone || this.#disk.crashed) return false
    return [...listTasks(state)].every((task) => task.endedLsn !== undefined)
  }

  #check(): void {
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
    const log = await this.#openLog(copy, { isOver: false })
    const replayed = await recover(log)
    strictEqual(hashState(replayed), hashState(state))
    deepStrictEqual([...listTasks(replayed)], [...listTasks(state)])
    await log.close()
  }
}
