import { checkInvariants } from '@tenure/state-machine'
import type { Operation, Scenario, SharedLogPlan } from '../scenario/scenario.js'
import { ClientSeat } from './client-seat.js'
import { Machine } from './machine.js'
import { Membership } from './membership.js'
import { RogueSeat } from './rogue-seat.js'
import type { Seat } from './seat.js'
import { SharedEngine } from './shared-engine.js'
import { Stage } from './stage.js'
import { WorkerSeat } from './worker-seat.js'

/**
 * All components under one seed: the coordinator's machine, honest and rogue workers, and clients.
 */
export class World {
  readonly stage: Stage
  /** Several on a shared log, else one. */
  readonly machines: readonly Machine[]
  readonly engine: SharedEngine | undefined
  readonly workers: readonly WorkerSeat[]
  readonly clients: readonly ClientSeat[]
  readonly rogues: readonly RogueSeat[]

  constructor(scenario: Scenario, onLine?: (line: string) => void) {
    const stage = new Stage(scenario, onLine)
    const { sharedLog } = scenario
    this.engine = sharedLog && new SharedEngine(stage, sharedLog)
    const machines = this.#makeMachines(stage, sharedLog)
    this.stage = stage
    this.machines = machines
    this.workers = scenario.workers.map(
      (plan, index) => new WorkerSeat(stage, machines, index, plan),
    )
    const clients = Array.from({ length: scenario.clients }, (_, index) => index)
    this.clients = clients.map((index) => new ClientSeat(stage, machines, index))
    const numbers = scenario.operations.map((it) => (it.kind === 'rogue' ? it.rogue : -1))
    const rogues = Array.from({ length: Math.max(-1, ...numbers) + 1 }, (_, index) => index)
    this.rogues = rogues.map((index) => new RogueSeat(stage, machines, index))
  }

  /** The coordinator that a trouble or an operation meets. */
  machineOf({ coordinator = 0 }: { readonly coordinator?: number }): Machine {
    return this.machines[coordinator % this.machines.length]!
  }

  #makeMachines(stage: Stage, sharedLog: SharedLogPlan | undefined): readonly Machine[] {
    const { engine } = this
    if (sharedLog === undefined || engine === undefined) return [new Machine(stage)]
    const members: Membership[] = []
    return sharedLog.aheadMs.map((aheadMs, number) => {
      const address = `coordinator-${number}:7411`
      const others = () => members.filter((member) => member.address !== address)
      const membership = new Membership(stage, engine, address, others)
      members.push(membership)
      return new Machine(stage, { number, address, aheadMs, membership })
    })
  }

  get seats(): readonly Seat[] {
    return [...this.clients, ...this.workers, ...this.rogues]
  }

  /** Called after every step. */
  check(): void {
    this.stage.watch(() => {
      for (const { life } of this.machines) life?.check()
    })
  }

  /** Checks the whole live state; called only every few steps. */
  checkInvariants(): void {
    this.stage.watch(() => {
      for (const { life } of this.machines) {
        if (life?.server !== undefined && !life.process.isOver) checkInvariants(life.server.state)
      }
    })
  }

  carryOut(operation: Operation): void {
    switch (operation.kind) {
      case 'rogue':
        this.rogues[operation.rogue]?.carryOut(operation)
        break
      case 'garbage':
        this.machineOf({})
          .network.connect('stranger')
          .write(this.stage.randomOf(`garbage at ${operation.atMs}`).bytes(operation.bytes))
        break
      case 'stop worker':
        this.workers[operation.worker]?.stop(operation.downMs)
        break
      case 'stop coordinator':
        this.machineOf(operation).stop(operation.downMs)
        break
      case 'submit':
      case 'resubmit':
      case 'kill':
      case 'get':
      case 'why':
      case 'history':
      case 'list':
      case 'stats':
      case 'checkpoint':
        this.clients[operation.client]?.carryOut(operation)
    }
  }
}
