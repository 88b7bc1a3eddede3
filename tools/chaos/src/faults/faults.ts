import { setTimeout } from 'node:timers/promises'
import type { Random, SmallDisk } from '@tenure/testing'
import { checkpointWords, Tail } from '../evidence/coordinator-lines.js'
import { type Fleet, leaseMs } from '../fleet/fleet.js'
import type { Seat } from '../fleet/seat.js'
import type { FaultJournal, FaultKind } from './fault-journal.js'

type Range = readonly [least: number, most: number]

type Fault = {
  readonly share: number
  /** How long a process is down or stopped, or answers are lost before connections break. */
  readonly forMs: Range
} & (
  | { readonly target: 'coordinator' | 'worker'; readonly kind: 'kill' | 'stop' }
  | { readonly target: 'network'; readonly kind: 'cut' | 'stall' }
)

/** Kinds of faults. The coordinator is one of many processes, but all depend on it. */
const faults: readonly Fault[] = [
  { share: 40, target: 'worker', kind: 'kill', forMs: [0, 2000] },
  { share: 15, target: 'worker', kind: 'stop', forMs: [50, leaseMs * 0.8] },
  { share: 20, target: 'worker', kind: 'stop', forMs: [leaseMs, leaseMs * 3] },
  { share: 13, target: 'coordinator', kind: 'kill', forMs: [0, 1500] },
  { share: 8, target: 'coordinator', kind: 'stop', forMs: [50, leaseMs * 0.8] },
  { share: 4, target: 'coordinator', kind: 'stop', forMs: [leaseMs, leaseMs * 2] },
  { share: 12, target: 'network', kind: 'cut', forMs: [5, 50] },
  { share: 4, target: 'network', kind: 'stall', forMs: [50, leaseMs * 1.5] },
]

const betweenMs: Range = [100, 1300]

/**
 * The disk is first filled in the middle of a short run, when there are checkpoints, and then from
 * time to time.
 */
const firstFillAfterShare = 0.4
const firstFillAfterMsMax = 5000
const betweenFillsMs: Range = [10_000, 40_000]
const fullForMs: Range = [6000, 15_000]
/** Space left on the disk where it is filled only once. */
const leftBytes: Range = [0, 4 * 2 ** 20]
/** Share of fillings without other faults: only these show whether work continues. */
const calmShare = 0.4
/** How often freed space is taken again, where the disk is kept full. */
const refillMs = 20

/** Share of checkpoints that are interrupted by a kill, and the delay after their start. */
const checkpointKillShare = 0.3
const intoCheckpointMs: Range = [0, 100]
const lookMs = 10

export interface FaultCounts {
  kills: number
  stops: number
  /** Processes that replaced a killed one. */
  restarts: number
  /** Kills of the coordinator, and of these the ones aimed at a checkpoint. */
  coordinatorKills: number
  checkpointKills: number
  /** How often answers were lost and connections broken, and how often all traffic stalled. */
  cuts: number
  stalls: number
  /** How often the coordinator's disk was filled. */
  fills: number
}

export function noFaults(): FaultCounts {
  const ofProcesses = { kills: 0, stops: 0, restarts: 0, coordinatorKills: 0, checkpointKills: 0 }
  return { ...ofProcesses, cuts: 0, stalls: 0, fills: 0 }
}

/**
 * Kills and stops processes, cuts and stalls the network, and fills the disk until the time is
 * over. Returns when all faults have ended. A target has one fault at a time; several targets may
 * have faults concurrently.
 */
export async function injectFaults(
  parts: {
    readonly fleet: Fleet
    /** The coordinator's disk, where it could be made small. */
    readonly disk: SmallDisk | undefined
    readonly random: Random
    readonly counts: FaultCounts
    readonly journal: FaultJournal
    readonly signal: AbortSignal
  },
  timeMs: number,
): Promise<void> {
  const injector = new Injector(parts, performance.now() + timeMs)
  const { disk, random } = parts
  const works = [
    injector.strikeAtRandom(random.fork()),
    injector.killAtCheckpoints(random.fork()),
    ...(disk === undefined ? [] : [injector.fill(disk, random.fork())]),
  ]
  await Promise.all(works)
  await injector.over()
}

class Injector {
  readonly #fleet: Fleet
  readonly #counts: FaultCounts
  readonly #journal: FaultJournal
  readonly #signal: AbortSignal
  readonly #endMs: number
  /** While true, no fault starts on a target that all processes depend on. */
  #isCalm = false
  /** Targets with a fault, and when it ends. */
  readonly #faulty = new Map<string, Promise<void>>()

  constructor(
    parts: {
      readonly fleet: Fleet
      readonly counts: FaultCounts
      readonly journal: FaultJournal
      readonly signal: AbortSignal
    },
    endMs: number,
  ) {
    this.#fleet = parts.fleet
    this.#counts = parts.counts
    this.#journal = parts.journal
    this.#signal = parts.signal
    this.#endMs = endMs
  }

  async strikeAtRandom(random: Random): Promise<void> {
    // A run without a kill and a stop proves nothing, so a slow machine continues until it had
    // both.
    const hasSeenBoth = () => this.#counts.kills > 0 && this.#counts.stops > 0
    while (!this.#isOver || !hasSeenBoth()) {
      await this.#wait(within(random, betweenMs))
      const { target, kind, forMs } = pickFault(random)
      const seat = target === 'worker' ? random.pick(this.#fleet.workers) : this.#fleet.coordinator
      const ms = within(random, forMs)
      if (kind === 'kill') this.#kill(seat, ms)
      else if (kind === 'stop') this.#stop(seat, ms)
      else if (kind === 'cut') this.#cut(random.fork(), ms)
      else this.#stall(ms)
    }
  }

  /** Files are in rare states while a checkpoint is made and shortly after it. */
  async killAtCheckpoints(random: Random): Promise<void> {
    const tail = new Tail(() => this.#fleet.coordinatorOutput)
    let share = 1
    while (!this.#isOver) {
      await this.#wait(lookMs)
      const isBegun = tail.read().some(({ msg }) => msg.startsWith(checkpointWords.begun))
      if (!isBegun || !random.chance(share)) continue
      await this.#wait(within(random, intoCheckpointMs))
      if (!this.#kill(this.#fleet.coordinator, within(random, [0, 1000]))) continue
      this.#counts.checkpointKills++
      share = checkpointKillShare
    }
  }

  /** Some fillings also take all freed space; others take nearly all, once. */
  async fill(disk: SmallDisk, random: Random): Promise<void> {
    let isAllTaken = true
    await this.#wait(Math.min(firstFillAfterMsMax, this.#leftMs * firstFillAfterShare))
    while (!this.#isOver) {
      const left = isAllTaken ? 0 : within(random, leftBytes)
      const untilMs = performance.now() + Math.min(this.#leftMs, within(random, fullForMs))
      this.#counts.fills++
      this.#isCalm = random.chance(calmShare)
      await this.#journal.record('fill', 'disk', async () => {
        try {
          await disk.fill(left)
          while (performance.now() < untilMs) {
            await this.#wait(refillMs)
            if (isAllTaken) await disk.fill()
          }
        } finally {
          disk.empty()
          this.#isCalm = false
        }
      })
      await this.#wait(Math.min(this.#leftMs, within(random, betweenFillsMs)))
      isAllTaken = random.chance(0.6)
    }
  }

  /** Settles when no target has a fault. */
  async over(): Promise<void> {
    await Promise.all(this.#faulty.values())
  }

  get #leftMs(): number {
    return Math.max(0, this.#endMs - performance.now())
  }

  get #isOver(): boolean {
    return this.#leftMs === 0
  }

  /** A process that is already down is not killed. */
  #kill(seat: Seat, ms: number): boolean {
    if (seat.mode !== 'running') return false
    return this.#strike('kill', seat.name, async () => {
      this.#counts.kills++
      if (seat === this.#fleet.coordinator) this.#counts.coordinatorKills++
      await seat.kill()
      await this.#wait(ms)
      this.#counts.restarts++
      seat.start()
    })
  }

  #stop(seat: Seat, ms: number): boolean {
    if (seat.mode !== 'running') return false
    return this.#strike('stop', seat.name, async () => {
      this.#counts.stops++
      seat.pause()
      await this.#wait(ms)
      seat.resume()
    })
  }

  #cut(random: Random, ms: number): boolean {
    return this.#strike('cut', 'network', async () => {
      this.#counts.cuts++
      const cut = this.#fleet.network.lose(() => random.chance(0.5))
      await this.#wait(ms)
      cut()
    })
  }

  #stall(ms: number): boolean {
    return this.#strike('stall', 'network', async () => {
      this.#counts.stalls++
      this.#fleet.network.stall()
      await this.#wait(ms)
      this.#fleet.network.flow()
    })
  }

  /** Returns whether the target had no fault before. */
  #strike(kind: FaultKind, target: string, strike: () => Promise<void>): boolean {
    if (this.#faulty.has(target)) return false
    if (this.#isCalm && (target === 'network' || target === this.#fleet.coordinator.name))
      return false
    const over = this.#journal.record(kind, target, strike)
    // A rejection is reported by the next wait, or at the end.
    const forgotten = over.finally(() => this.#faulty.delete(target))
    forgotten.catch(() => {})
    this.#faulty.set(target, forgotten)
    return true
  }

  async #wait(ms: number): Promise<void> {
    await setTimeout(ms, undefined, { signal: this.#signal })
  }
}

function pickFault(random: Random): Fault {
  let left = random.integer(faults.reduce((sum, { share }) => sum + share, 0))
  return faults.find(({ share }) => {
    left -= share
    return left < 0
  })!
}

function within(random: Random, [least, most]: Range): number {
  return least + random.next() * (most - least)
}
