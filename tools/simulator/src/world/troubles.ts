import type { DiskCall, FaultEffect, SimulatedConnection } from '@tenure/testing'
import type {
  ConnectionTrouble,
  DiskCalls,
  DiskTrouble,
  EndTrouble,
  EngineTrouble,
  PartitionTrouble,
  PlannedTrouble,
} from '../scenario/scenario.js'
import type { Machine } from './machine.js'
import type { Seat } from './seat.js'
import type { SharedEngine } from './shared-engine.js'
import type { WorkerSeat } from './worker-seat.js'
import type { World } from './world.js'

/** Starts a trouble. One with a duration ends by itself, or with `heal`. */
export function strike(world: World, trouble: PlannedTrouble): void {
  switch (trouble.kind) {
    case 'power loss':
    case 'kill coordinator':
    case 'end at call':
    case 'pause coordinator':
      endCoordinator(world, world.machineOf(trouble), trouble)
      break
    case 'disk error':
    case 'failed sync':
    case 'short write':
    case 'disk full':
    case 'drop pages':
      failDisk(world, world.machineOf(trouble), trouble)
      break
    case 'reset':
    case 'half open':
    case 'stall':
    case 'lose answers':
      failConnections(world, trouble)
      break
    case 'partition':
      part(world, trouble)
      break
    case 'kill worker':
      killWorker(world, world.workers[trouble.worker], trouble.downMs)
      break
    case 'pause worker':
      pause(world, trouble.kind, world.workers[trouble.worker], trouble.forMs)
      break
    case 'step clock':
      world.stage.count(trouble.kind)
      world.stage.isTimeHonest = false
      world.machineOf(trouble).stepClock(trouble.byMs)
      break
    case 'drift clock':
      world.stage.count(trouble.kind)
      world.stage.isTimeHonest = false
      world.machineOf(trouble).driftClock(trouble.rate)
      break
    case 'engine leaderless':
    case 'engine full':
    case 'engine cut off':
    case 'engine wiped':
    case 'engine forgets':
      if (world.engine !== undefined) failEngine(world, world.engine, trouble)
      break
  }
}

/** Ends all faults. */
export function heal(world: World): void {
  world.stage.events.add('healed')
  world.stage.isHealed = true
  world.engine?.heal()
  for (const machine of world.machines) {
    machine.heal()
    machine.driftClock(1)
  }
  for (const worker of world.workers) worker.resume()
  for (const seat of world.seats) seat.reunite()
  for (const { near, far } of world.machines.flatMap(({ network }) => network.connections)) {
    near.release()
    far.release()
    // One side has closed; the other is notified now.
    if (near.isClosed || far.isClosed) {
      near.break()
      far.break()
    }
  }
}

function endCoordinator(world: World, machine: Machine, trouble: EndTrouble): void {
  switch (trouble.kind) {
    case 'power loss':
      if (machine.isOff) break
      world.stage.count(trouble.kind)
      machine.losePower(trouble.keep, trouble.downMs, trouble.damage)
      break
    case 'kill coordinator':
      if (machine.life === undefined) break
      world.stage.count(trouble.kind)
      machine.kill(trouble.downMs)
      break
    case 'end at call': {
      const { how, when, calls, keep, downMs } = trouble
      machine.planEnd(calls, { kind: how, when }, { keep, downMs })
      break
    }
    case 'pause coordinator':
      pause(world, trouble.kind, machine, trouble.forMs)
      break
  }
}

function failDisk(world: World, machine: Machine, trouble: DiskTrouble): void {
  const { stage } = world
  const { disk } = machine
  switch (trouble.kind) {
    case 'disk error': {
      const { code, on, times } = trouble
      const matches = (call: DiskCall) => aims[on](call) && (code === 'EIO' || takesRoom(call))
      machine.planFault(`${code} at ${on}`, matches, { kind: 'error', code }, times)
      break
    }
    case 'failed sync': {
      const { model, landed } = trouble
      const random = world.stage.randomOf(`failed sync at ${stage.clock.monotonicMs()}`)
      const effect: FaultEffect = { kind: 'failed-sync', model }
      // A dead device writes nothing.
      const some = model === 'dead' ? effect : { ...effect, landed: () => random.chance(landed) }
      machine.planFault(`failed sync: ${model}`, () => true, some, 1)
      break
    }
    case 'short write':
      machine.planFault(
        trouble.kind,
        () => true,
        { kind: 'short-write', toSector: true },
        trouble.times,
      )
      break
    case 'disk full':
      world.stage.count(trouble.kind)
      world.stage.wasDiskFull = true
      disk.setCapacity(disk.usedBytes + trouble.leftBytes)
      world.stage.after(trouble.forMs, () => machine.disk.setCapacity(Number.POSITIVE_INFINITY))
      break
    case 'drop pages':
      world.stage.count(trouble.kind)
      machine.dropCleanPages()
      break
  }
}

const aims: { readonly [C in DiskCalls]: (call: DiskCall) => boolean } = {
  write: ({ kind }) => kind === 'write' || kind === 'writeOnLoop',
  sync: ({ kind }) => kind === 'sync' || kind === 'syncDirectory',
  open: ({ kind }) => kind === 'open',
  read: ({ kind }) => kind === 'read',
  rename: ({ kind }) => kind === 'rename',
  any: () => true,
}

/** How long the coordinators of a log that has lost entries may take to notice it. */
const noticeMs = 20_000

function failEngine(
  world: World,
  engine: SharedEngine,
  trouble: EngineTrouble & { readonly coordinator?: number },
): void {
  const { stage } = world
  if (stage.isHealed) return
  stage.count(trouble.kind)
  switch (trouble.kind) {
    case 'engine leaderless':
      engine.memory.isLeaderless = true
      stage.after(trouble.forMs, () => {
        engine.memory.isLeaderless = false
      })
      break
    case 'engine full':
      engine.limit(0)
      stage.after(trouble.forMs, () => engine.unlimit())
      break
    case 'engine cut off': {
      const { address } = world.machineOf(trouble)
      engine.cutOff(address)
      stage.after(trouble.forMs, () => engine.reunite(address))
      break
    }
    case 'engine wiped':
    case 'engine forgets':
      engine.lose(trouble.kind === 'engine forgets' ? trouble.entries : Number.POSITIVE_INFINITY)
      stage.after(noticeMs, () => {
        if (engine.isLost) stage.end('lost')
      })
      break
  }
}

/** Other calls do not fail for lack of space. */
function takesRoom({ kind, mode }: DiskCall): boolean {
  if (kind === 'open') return mode === 'create'
  return ['createDirectory', 'rename', 'write', 'writeOnLoop', 'sync'].includes(kind)
}

function failConnections(world: World, trouble: ConnectionTrouble): void {
  const connections = seatOf(world, trouble)?.connections ?? []
  const undo = (forMs: number, end: (connection: SimulatedConnection) => void) =>
    world.stage.after(forMs, () => {
      for (const connection of connections) end(connection)
    })
  if (connections.length === 0) return
  world.stage.count(trouble.kind)
  switch (trouble.kind) {
    case 'reset':
      for (const { near, far } of connections) {
        near.break()
        far.break()
      }
      break
    case 'half open':
      for (const { near, far } of connections) {
        far.hold()
        near.break()
      }
      break
    case 'stall':
      for (const { near, far } of connections) {
        near.hold()
        far.hold()
      }
      undo(trouble.forMs, ({ near, far }) => {
        near.release()
        far.release()
      })
      break
    case 'lose answers':
      for (const { far } of connections) far.hold()
      undo(trouble.forMs, ({ near, far }) => {
        near.break()
        far.break()
      })
      break
  }
}

function part(world: World, trouble: PartitionTrouble): void {
  const seat = seatOf(world, trouble)
  seat?.partition(() => world.stage.count(trouble.kind))
  world.stage.after(trouble.forMs, () => seat?.reunite())
}

function seatOf({ seats }: World, { who }: { readonly who: number }): Seat | undefined {
  return seats[who % Math.max(1, seats.length)]
}

function killWorker({ stage }: World, worker: WorkerSeat | undefined, downMs: number): void {
  if (worker === undefined || !worker.isRunning) return
  stage.count('kill worker')
  worker.kill(downMs)
}

function pause(
  world: World,
  kind: string,
  target: { pause(): boolean; resume(): void } | undefined,
  forMs: number,
): void {
  if (target === undefined || !target.pause()) return
  world.stage.count(kind)
  world.stage.after(forMs, () => target.resume())
}
