import { position } from '@tenure/state-machine'
import type { NaiveModel } from '@tenure/testing'
import { checkStatements } from '../checks/statements.js'
import type { Scenario } from '../scenario/scenario.js'
import type { Check } from '../violation.js'
import { holds, type Violation } from '../violation.js'
import { readLog } from '../world/found.js'
import type { Machine } from '../world/machine.js'
import { drive } from '../world/process.js'
import type { Ending } from '../world/stage.js'
import { heal, strike } from '../world/troubles.js'
import { World } from '../world/world.js'
import type { Probe } from './probes.js'

/** The result of one scenario. */
export interface Outcome {
  readonly ending: Ending | 'violated'
  readonly violation: Violation | undefined
  /** Hash of all events: the same scenario gives the same hash. */
  readonly hash: string
  readonly virtualMs: number
  readonly records: number
  /** Counters of the records, by the naive model. */
  readonly counters: ReturnType<NaiveModel['counters']>
  readonly lives: number
  /** Calls to the last disk of the first coordinator. */
  readonly diskCalls: number
  readonly faults: ReadonlyMap<string, number>
  readonly probes: ReadonlyMap<Probe, number>
}

/** Time limit for all work to end after the faults. */
const drainMsMax = 300_000
/** The whole live state is checked every this many steps. */
const stepsBetweenLooks = 50

/** Plays a scenario to its end, or to the first violation. */
export async function run(scenario: Scenario, onLine?: (line: string) => void): Promise<Outcome> {
  const world = new World(scenario, onLine)
  const startMs = world.stage.clock.monotonicMs()
  const onSurprise = (error: unknown) => world.stage.wait(Promise.reject(error))
  process.on('unhandledRejection', onSurprise)
  try {
    await new Play(world).play()
  } catch (error) {
    world.stage.watch(() => {
      throw error
    })
  } finally {
    process.off('unhandledRejection', onSurprise)
    for (const machine of world.machines) {
      machine.countFaults()
      machine.life?.end()
    }
  }
  const { violation, ending = 'drained' } = world.stage
  return {
    ending: violation === undefined ? ending : 'violated',
    violation,
    hash: world.stage.events.digest(),
    virtualMs: world.stage.clock.monotonicMs() - startMs,
    records: world.stage.ledger.lastLsn,
    lives: world.stage.life,
    counters: world.stage.ledger.naive.counters(),
    diskCalls: world.machines[0]!.disk.callCount,
    faults: world.stage.faults,
    probes: world.stage.probes.counts,
  }
}

class Play {
  readonly #world: World
  #steps = 0

  constructor(world: World) {
    this.#world = world
  }

  async play(): Promise<void> {
    const world = this.#world
    const { operations, faults, healAtMs } = world.stage.scenario
    for (const operation of operations)
      world.stage.after(operation.atMs, () => world.carryOut(operation))
    for (const fault of faults) {
      // Faults at time 0 strike before the first step.
      if (fault.atMs === 0) strike(world, fault)
      else world.stage.after(fault.atMs, () => strike(world, fault))
    }
    world.stage.after(healAtMs, () => heal(world))
    for (const machine of world.machines) machine.start()
    for (const worker of world.workers) worker.start()
    await this.#until('all work ends', () => world.stage.isHealed && this.#isWorkDone)
    if (this.#isOver) {
      checkStatements(world.stage.statements, world.stage.ledger.records)
      return
    }
    await this.#stop()
    checkStatements(world.stage.statements, world.stage.ledger.records)
    await this.#checkLog()
  }

  get #isOver(): boolean {
    const { stage, machines } = this.#world
    if (machines.every(({ isHalted }) => isHalted)) stage.end('lost')
    return stage.violation !== undefined || stage.ending !== undefined
  }

  get #isWorkDone(): boolean {
    const { clients, machines, stage } = this.#world
    if (!machines.every(({ isUp }) => isUp) || !machines.some(({ isActive }) => isActive))
      return false
    if (clients.some((client) => client.open > 0)) return false
    return stage.ledger.naive.isAllEnded()
  }

  /** Stops all workers and the coordinator gracefully, and waits for them. */
  async #stop(): Promise<void> {
    await this.#follow()
    const { workers, rogues, clients, machines, wait } = this.#bound()
    for (const worker of workers) worker.shutDown()
    for (const rogue of rogues) wait(rogue.shutDown())
    await this.#until('workers stop', () => workers.every((worker) => worker.isStopped))
    for (const client of clients) wait(client.close())
    for (const machine of machines) machine.shutDown()
    await this.#until('the coordinator stops', () => machines.every(({ isStopped }) => isStopped))
  }

  /** All coordinators of a shared log come to the same state. */
  async #follow(): Promise<void> {
    const { machines, stage } = this.#world
    if (this.#world.engine === undefined) return
    const isThere = ({ life }: Machine) =>
      life?.server !== undefined && position(life.server.state).lastLsn === stage.ledger.lastLsn
    await this.#until('standbys follow', () => machines.every(isThere))
    stage.watch(() => {
      for (const { life } of machines) life?.checkState(true)
    })
  }

  #bound() {
    const world = this.#world
    const { workers, rogues, clients, machines } = world
    return {
      workers,
      rogues,
      clients,
      machines,
      wait: (work: Promise<unknown>) => world.stage.wait(work),
    }
  }

  /** Compares the log on the disk with the ledger. */
  async #checkLog(): Promise<void> {
    if (this.#isOver) return
    for (const machine of this.#world.machines) await this.#checkDisk(machine)
  }

  async #checkDisk(machine: Machine): Promise<void> {
    const { stage } = this.#world
    const { ledger, clock } = stage
    const damaged = machine.isDamaged ? { knownLsn: ledger.lastLsn } : undefined
    const found = await drive(clock, readLog(machine.disk.snapshot(), clock, damaged))
    if (machine.membership !== undefined) {
      machine.membership.checkCopy(found)
      return
    }
    for (const { lsn, record } of found.entries) {
      if (lsn <= ledger.lastLsn) ledger.compare(lsn, record)
      // The coordinator failed before it could report this record.
      else ledger.add(record)
    }
    holds(found.hash === ledger.replayedHash(), 'checkpoint and tail match a full replay', () => {
      return `at the end, LSN ${found.lastLsn}`
    })
  }

  /** Lets time pass until the condition holds, or a check fails. */
  async #until(check: Check, isSo: () => boolean): Promise<void> {
    const world = this.#world
    const { clock } = world.stage
    const untilMs = clock.monotonicMs() + world.stage.scenario.healAtMs + drainMsMax
    while (!this.#isOver && !isSo()) {
      const isMoving = await clock.advanceToNextTimer()
      await this.#look()
      holds(isMoving, check, () => 'no further event is scheduled')
      holds(clock.monotonicMs() < untilMs, check, () => this.#describeStandstill())
    }
  }

  async #look(): Promise<void> {
    const world = this.#world
    world.check()
    if (++this.#steps % stepsBetweenLooks === 0) world.checkInvariants()
    if (!this.#isOver) for (const machine of world.machines) await machine.startFromCopies()
  }

  #describeStandstill(): string {
    const { stage, clients, machines } = this.#world
    const isUp = machines.some(({ isActive }) => isActive)
    const alive = stage.ledger.naive.tasks().filter((task) => task.endedLsn === undefined)
    const tasks = alive.map(({ taskId, state }) => `${taskId} is ${state}`).join(', ')
    const open = clients.reduce((sum, client) => sum + client.open, 0)
    return `not within ${drainMsMax / 60_000} minutes without faults: ${tasks || 'no task alive'}; ${open} calls open; the coordinator is ${isUp ? 'up' : 'down'}`
  }
}
