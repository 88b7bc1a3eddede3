import type { Client, Contender } from './contender.js'
import { type Drive, drive, driveAtRate, driveHandlers, driveLives, drivePickUps } from './drive.js'
import type { Figure, Footprint } from './figure.js'
import { diskOf, memoryOf } from './footprint.js'
import type { Plan, Shape, Work } from './plan.js'
import { RunningContender } from './running-contender.js'

/** One contender in one round: all its measurements, each with an empty directory. */
export class Trial {
  readonly #contender: Contender
  readonly #plan: Plan
  readonly #root: string
  readonly figures: (Figure | Footprint)[] = []

  constructor(contender: Contender, plan: Plan, root: string) {
    this.#contender = contender
    this.#plan = plan
    this.#root = root
  }

  async run(): Promise<void> {
    if (this.#plan.isOfLatency) {
      await this.#submitUnderLoad()
      return
    }
    for (const shape of this.#plan.shapes) await this.#submitThenProcess(shape)
    await this.#submitUnderLoad()
    if (this.#contender.isEcho) return
    for (const shape of this.#plan.shapes) await this.#submitWithId(shape)
    for (const shape of this.#plan.shapes) await this.#live(shape)
    if (this.#contender.runsHandlers) {
      for (const shape of this.#plan.shapes) await this.#liveByHandlers(shape)
    }
    for (const shape of this.#plan.shapesOfHeartbeats) await this.#sendHeartbeats(shape)
    await this.#pickUp()
    const { fillMax = Number.POSITIVE_INFINITY } = this.#contender
    const waiting = this.#plan.waiting.filter((tasks) => tasks <= fillMax)
    for (const tasks of waiting) await this.#besideWaiting(tasks)
  }

  async #submitThenProcess(shape: Shape): Promise<void> {
    await using running = await this.#start()
    const clients = await running.open(shape.connections)
    const submitted = await this.#submit(clients, shape)
    this.#add('submit', shape, 0, submitted)
    if (this.#contender.isEcho) return
    // Processes the tasks that were submitted before, those of the warm-up included.
    this.#add('lease+complete', shape, 0, await this.#process(running, clients, shape))
  }

  async #submitWithId(shape: Shape): Promise<void> {
    await using running = await this.#start()
    const clients = await running.open(shape.connections)
    if (!clients.every(({ submitWithId }) => submitWithId !== undefined)) return
    const submitted = await drive(clients, shape.inFlight, this.#plan, async (client) => {
      await client.submitWithId?.()
    })
    this.#add('submit with id', shape, 0, submitted)
  }

  async #live(shape: Shape): Promise<void> {
    await using running = await this.#start()
    const clients = await running.open(shape.connections)
    const lived = clients.every(isProcessing)
      ? await drive(clients, shape.inFlight, this.#plan, liveOnce)
      : await driveLives(this.#contender, running.port, clients, shape, this.#plan)
    this.#add('life', shape, 0, lived)
  }

  async #liveByHandlers(shape: Shape): Promise<void> {
    await using running = await this.#start()
    const clients = await running.open(shape.connections)
    const lived = await driveLives(this.#contender, running.port, clients, shape, this.#plan)
    this.#add('life by handlers', shape, 0, lived)
  }

  /** Holds many leases, and sends a heartbeat for each in turn. */
  async #sendHeartbeats(shape: Shape): Promise<void> {
    const { heldLeases } = this.#plan
    await using running = await this.#start()
    const clients = await running.open(shape.connections)
    if (!clients.every(isHolding)) return
    await this.#contender.fill(running.port, heldLeases)
    for (let held = 0; held < heldLeases; held += clients.length) {
      const next = clients.slice(0, heldLeases - held)
      await Promise.all(next.map((client) => client.hold?.()))
    }
    const beaten = await drive(clients, shape.inFlight, this.#plan, async (client) => {
      await client.heartbeat?.()
    })
    this.#add('heartbeat', shape, heldLeases, beaten)
  }

  async #pickUp(): Promise<void> {
    await using running = await this.#start()
    const [client] = await running.open(1)
    const { pickUps } = this.#plan
    const picked = await drivePickUps(this.#contender, running.port, client!, pickUps)
    this.#add('pick-up', { connections: 1, inFlight: 1 }, 0, picked)
  }

  /** Submits at shares of the highest rate that this very server has reached. */
  async #submitUnderLoad(): Promise<void> {
    const shape = this.#plan.shapes.at(-1)!
    await using running = await this.#start()
    const clients = await running.open(shape.connections)
    const { opsPerSecond: most } = await this.#submit(clients, shape)
    for (const load of this.#plan.loads) {
      const driven = await driveAtRate(clients, shape.inFlight, most * load, this.#plan)
      this.#add('submit', shape, 0, driven, { load })
    }
  }

  async #besideWaiting(waiting: number): Promise<void> {
    const { system, durability } = this.#contender
    await using running = await this.#start()
    const before = footprintOf(running)
    await this.#contender.fill(running.port, waiting)
    const after = footprintOf(running)
    if (waiting >= footprintFrom) {
      this.figures.push({
        system,
        durability,
        work: 'hold',
        liveTasks: waiting,
        memoryBytesPerTask: (after.memory - before.memory) / waiting,
        diskBytesPerTask: (after.disk - before.disk) / waiting,
      })
    }
    // Tasks that one shape submits and does not process wait during the next: a few seconds' worth.
    for (const shape of this.#plan.shapesBesideWaiting) {
      const clients = await running.open(shape.connections)
      this.#add('submit', shape, waiting, await this.#submit(clients, shape))
      this.#add('lease+complete', shape, waiting, await this.#process(running, clients, shape))
    }
  }

  #submit(clients: readonly Client[], { inFlight }: Shape): Promise<Drive> {
    return drive(clients, inFlight, this.#plan, (client) => client.submit())
  }

  #process(running: RunningContender, clients: readonly Client[], shape: Shape): Promise<Drive> {
    if (!clients.every(isProcessing)) {
      return driveHandlers(this.#contender, running.port, shape, this.#plan)
    }
    return drive(clients, shape.inFlight, this.#plan, async (client) => client.process?.())
  }

  async #start(): Promise<RunningContender> {
    const running = await RunningContender.start(this.#contender, this.#root)
    if (this.#contender.warmsUp) await this.#warmUp(running)
    return running
  }

  /** Warms up with whole lives, which leave no waiting tasks. */
  async #warmUp(running: RunningContender): Promise<void> {
    const clients = await running.open(16)
    const pace = { warmUpSeconds: 0, seconds: this.#plan.compileSeconds }
    await drive(clients, 16, pace, liveOnce)
  }

  #add(
    work: Work,
    { connections, inFlight }: Shape,
    liveTasks: number,
    driven: Drive,
    more: Pick<Figure, 'load'> = {},
  ): void {
    const { system, durability } = this.#contender
    const shape = { connections, inFlight }
    this.figures.push({ system, durability, work, ...shape, liveTasks, ...driven, ...more })
  }
}

/** Fewer tasks are too few to tell the size of one. */
const footprintFrom = 100_000

async function liveOnce(client: Client): Promise<void> {
  await client.submit()
  await client.process?.()
}

function isProcessing({ process }: Client): boolean {
  return process !== undefined
}

function isHolding({ hold, heartbeat }: Client): boolean {
  return hold !== undefined && heartbeat !== undefined
}

function footprintOf({ server, place }: RunningContender) {
  return { memory: memoryOf(server.pid), disk: diskOf(place.directory) }
}
