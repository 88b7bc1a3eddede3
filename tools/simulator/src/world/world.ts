import { checkInvariants } from '@tenure/state-machine'
import type { Operation, Scenario } from '../scenario/scenario.js'
import { ClientSeat } from './client-seat.js'
import { Machine } from './machine.js'
import { RogueSeat } from './rogue-seat.js'
import type { Seat } from './seat.js'
import { Stage } from './stage.js'
import { WorkerSeat } from './worker-seat.js'

/**
 * All components under one seed: the coordinator's machine, honest and rogue workers, and clients.
 */
export class World {
  readonly stage: Stage
  readonly machine: Machine
  readonly workers: readonly WorkerSeat[]
  readonly clients: readonly ClientSeat[]
  readonly rogues: readonly RogueSeat[]

  constructor(scenario: Scenario, onLine?: (line: string) => void) {
    const stage = new Stage(scenario, onLine)
    const machine = new Machine(stage)
    this.stage = stage
    this.machine = machine
    this.workers = scenario.workers.map(
      (plan, index) => new WorkerSeat(stage, machine, index, plan),
    )
    const clients = Array.from({ length: scenario.clients }, (_, index) => index)
    this.clients = clients.map((index) => new ClientSeat(stage, machine, index))
    const numbers = scenario.operations.map((it) => (it.kind === 'rogue' ? it.rogue : -1))
    const rogues = Array.from({ length: Math.max(-1, ...numbers) + 1 }, (_, index) => index)
    this.rogues = rogues.map((index) => new RogueSeat(stage, machine, index))
  }

  get seats(): readonly Seat[] {
    return [...this.clients, ...this.workers, ...this.rogues]
  }

  /** Called after every step. */
  check(): void {
    this.stage.watch(() => this.machine.life?.check())
  }

  /** Checks the whole live state; called only every few steps. */
  checkInvariants(): void {
    this.stage.watch(() => {
      const { life } = this.machine
      if (life?.server !== undefined && !life.process.isOver) checkInvariants(life.server.state)
    })
  }

  carryOut(operation: Operation): void {
    switch (operation.kind) {
      case 'rogue':
        this.rogues[operation.rogue]?.carryOut(operation)
        break
      case 'garbage':
        this.stage.network
          .connect('stranger')
          .write(this.stage.randomOf(`garbage at ${operation.atMs}`).bytes(operation.bytes))
        break
      case 'stop worker':
        this.workers[operation.worker]?.stop(operation.downMs)
        break
      case 'stop coordinator':
        this.machine.stop(operation.downMs)
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
