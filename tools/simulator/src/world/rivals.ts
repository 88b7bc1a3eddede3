import { connect, type Tenure, TenureError } from '@tenure/client'
import { startCoordinator } from '@tenure/coordinator-server'
import { recover } from '@tenure/coordinator-server/internal'
import { describeError } from '@tenure/harness'
import type { Request } from '@tenure/protocol'
import { checkInvariants, findByRequestId } from '@tenure/state-machine'
import {
  type DiskImage,
  type Random,
  SimulatedClock,
  SimulatedDisk,
  SimulatedNetwork,
} from '@tenure/testing'
import { openLog, verifyLog, WalError } from '@tenure/wal'
import type { ScenarioKnobs } from '../scenario/scenario.js'
import { holds, Violation } from '../violation.js'
import { Checkpoints, logHistory } from './checkpoints.js'
import { clientTransport } from './client-transport.js'
import { directory, logOptions, serverOptions } from './coordinator-options.js'
import { drive, Process } from './process.js'
import { serverTransport } from './server-transport.js'
import { type Statement, Wire } from './wire.js'

/** A copy of the disk for two concurrent coordinators, and the random source of their actions. */
export interface Arena {
  readonly image: DiskImage
  readonly knobs: ScenarioKnobs
  readonly random: Random
}

/** The number of histories that the next open found. */
export type RivalsEnd = 'one history' | 'two histories'

const check = 'two coordinators lose nothing silently'
const twoHistories = /two histories/
const diskMsMax = 3
const roundsMax = 12

/**
 * Two coordinators on one log without a lock. The older one does not notice immediately that it was
 * superseded, so its acknowledged records may be lost. But the next open has every acknowledged
 * record, or it reports both histories.
 */
export function runRivals(arena: Arena, startMs: number): Promise<RivalsEnd> {
  // A separate clock, because no time passes in the world meanwhile.
  const clock = new SimulatedClock({ startMs, soon: 'manual' })
  return drive(clock, fight(arena, clock))
}

async function fight(arena: Arena, clock: SimulatedClock): Promise<RivalsEnd> {
  const { image, random } = arena
  const latency = () =>
    new Promise<void>((resolve) => {
      clock.setTimer(random.next() * diskMsMax, resolve)
    })
  const disk = SimulatedDisk.from(image, {
    recordCalls: false,
    capacityBytes: Number.POSITIVE_INFINITY,
    locks: false,
    latency,
  })
  const place = { ...arena, disk, clock }
  const older = await Rival.start('older', place)
  await older.submit()
  // Some runs have one coordinator after the other, which must never be reported as two histories.
  const isOneAtATime = random.chance(0.2)
  if (isOneAtATime) older.end()
  const starting = isOneAtATime ? Rival.start('newer', place) : startBeside(place)
  const [newer] = await Promise.all([starting, older.submit()])
  const rivals = newer === undefined ? [older] : [older, newer]
  const underWay: Promise<void>[] = []
  for (let round = random.integer(roundsMax); round > 0; round--) {
    const work = random.pick(rivals).submit()
    underWay.push(work)
    if (random.chance(0.5)) await work
  }
  await Promise.all(underWay)
  for (const rival of rivals) rival.end()
  const end = await openNext(disk.powerLoss({ random }), clock, rivals)
  holds(!isOneAtATime || end === 'one history', check, () => {
    return 'one coordinator ended before the other started, but the log has two histories'
  })
  return end
}

/** A write in progress may look like damage; a start that reports it has lost nothing. */
async function startBeside(place: Place): Promise<Rival | undefined> {
  try {
    return await Rival.start('newer', place)
  } catch (error) {
    if (error instanceof WalError) return undefined
    throw error
  }
}

/** The log has every acknowledged record, or names what is lost. */
async function openNext(
  disk: SimulatedDisk,
  clock: SimulatedClock,
  rivals: readonly Rival[],
): Promise<RivalsEnd> {
  try {
    const log = await openLog(directory, { ...logOptions, disk, clock })
    const state = await recover(log)
    await log.close()
    checkInvariants(state)
    const lost = rivals
      .flatMap(({ told }) => [...told])
      .find(([requestId, taskId]) => findByRequestId(state, requestId) !== taskId)
    if (lost === undefined) return 'one history'
    const { historyDamage } = await verifyLog(directory, { disk })
    const isNamed = historyDamage.some(({ why }) => twoHistories.test(why))
    holds(isNamed, check, () => `the ${lost[0]} was acknowledged as task ${lost[1]}, but is lost`)
    return 'two histories'
  } catch (error) {
    if (error instanceof Violation) throw error
    if (error instanceof WalError && twoHistories.test(error.message)) return 'two histories'
    throw new Violation(check, `the next open: ${describeError(error)}`, { cause: error })
  }
}

interface Place extends Arena {
  readonly disk: SimulatedDisk
  readonly clock: SimulatedClock
}

/** One of the two coordinators, with a client of its own. */
class Rival {
  /** The acknowledged tasks, by their request ids. */
  readonly told = new Map<string, number>()
  readonly #name: string
  readonly #random: Random
  readonly #client: Tenure
  readonly #end: () => void
  #submissions = 0

  private constructor(name: string, random: Random, client: Tenure, end: () => void) {
    this.#name = name
    this.#random = random
    this.#client = client
    this.#end = end
  }

  static async start(name: string, { knobs, random, disk, clock }: Place): Promise<Rival> {
    const process = new Process(clock)
    const own = disk.process()
    const network = new SimulatedNetwork(clock)
    const checkpointMaker = new Checkpoints(disk, process.clock, () => {})
    await startCoordinator({
      ...serverOptions(knobs),
      clock: process.clock,
      transport: serverTransport(network, process),
      checkpointMaker,
      historyReader: logHistory(own, process.clock),
      log: { ...logOptions, disk: own, clock: process.clock },
    })
    const client = await connectTo(network, clock, name)
    return new Rival(name, random.fork(), client, () => {
      process.end()
      own.kill()
      checkpointMaker.kill()
    })
  }

  async submit(): Promise<void> {
    const requestId = `submission ${++this.#submissions} to the ${this.#name}`
    const payload = Buffer.alloc(this.#random.pick([10, 1000, 8000]))
    try {
      const { taskId } = await this.#client.submit(payload, { requestId })
      this.told.set(requestId, taskId)
    } catch (error) {
      // The coordinator was fenced, or has ended.
      if (!(error instanceof TenureError)) throw error
    }
  }

  end(): void {
    this.#end()
  }
}

/** Connects from a process of its own, which outlives the coordinator's process. */
function connectTo(network: SimulatedNetwork, clock: SimulatedClock, name: string) {
  const process = new Process(clock)
  return connect({
    endpoints: ['coordinator:7411'],
    name,
    role: 'admin',
    clock: process.clock,
    requestTimeoutMs: 1000,
    random: { next: () => 0.5, id: () => name },
    transport: clientTransport({
      reach: () => network,
      address: name,
      process,
      listenIn: () => new Wire({ asked: (request) => said(name, request) }, () => {}),
    }),
  })
}

/** Not checked for truth: it is unknown which of the two logs will survive. */
function said(who: string, request: Request): Statement {
  return { who, request, fromLsn: 0, toLsn: 0, coveredLsn: 0, answer: undefined }
}
