import { setTimeout } from 'node:timers/promises'
import type { Random, SmallDisk } from '@tenure/testing'
import { checkpointWords, Tail } from '../evidence/coordinator-lines.js'
import { type Fleet, leaseMs } from '../fleet/fleet.js'
import type { Seat } from '../fleet/seat.js'
import type { FaultJournal, FaultKind } from './fault-journal.js'

type Range = readonly [least: number, most: number]

type Fault = {
  readonly share: number
  /** How long the process is away or stands still; how long answers are lost before lines break. */
  readonly forMs: Range
} & (
  | { readonly target: 'coordinator' | 'worker'; readonly kind: 'kill' | 'stop' }
  | { readonly target: 'network'; readonly kind: 'cut' | 'stall' }
)

/** What can happen. The coordinator is one of many processes, but all depend on it. */
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

/** The disk: in the middle of a short run, when there are checkpoints, and then from time to time. */
const firstFillAfterShare = 0.4
const firstFillAfterMsMax = 5000
const betweenFillsMs: Range = [10_000, 40_000]
const fullForMs: Range = [6000, 15_000]
/** What is left free of it, where somebody else takes nearly all, once. */
const leftBytes: Range = [0, 4 * 2 ** 20]
/** Of those times, how many are left alone with it: what goes on then shows only where nobody disturbs. */
const calmShare = 0.4
/** How often somebody else takes what became free, where he takes all of it. */
const refillMs = 20

/** Of the checkpoints, those that a kill is aimed at; and how long after their beginning. */
const checkpointKillShare = 0.3
const intoCheckpointMs: Range = [0, 100]
const lookMs = 10

export interface FaultCounts {
  kills: number
  stops: number
  /** Processes that were started in the place of one that was killed. */
  restarts: number
  /** Of the kills, those of the coordinator, and of these, those that were aimed at a checkpoint. */
  coordinatorKills: number
  checkpointKills: number
  /** How often answers were lost and lines broken, and how often nothing came through for a while. */
  cuts: number
  stalls: number
  /** How often somebody else took the room on the coordinator's disk. */
  fills: number
}

export function noFaults(): FaultCounts {
  const ofProcesses = { kills: 0, stops: 0, restarts: 0, coordinatorKills: 0, checkpointKills: 0 }
  return { ...ofProcesses, cuts: 0, stalls: 0, fills: 0 }
}

/**
 * Kills and stops processes, cuts and stalls the network, fills the disk, until the time is over;
 * returns when all is well again. What has a fault is left alone until that is over; several may have
 * one at once.
 */
export async function injectFaults(
  parts: {
    readonly fleet: Fleet
    /** The coordinator's, where it could be made small. */
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
  /** Nothing befalls now what everybody depends on. */
  #isCalm = false
  /** Whoever has a fault now, and when it is over. */
  readonly #struck = new Map<string, Promise<void>>()

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
    // A run without both has shown nothing, however slow the machine is.
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

  /** While a checkpoint is being made, and soon after, its files are in a state that is seldom seen. */
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

  /** At times somebody takes all that becomes free, too; at times nearly all, and no more. */
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

  /** Settles when nobody has a fault any more. */
  async over(): Promise<void> {
    await Promise.all(this.#struck.values())
  }

  get #leftMs(): number {
    return Math.max(0, this.#endMs - performance.now())
  }

  get #isOver(): boolean {
    return this.#leftMs === 0
  }

  /** Who is down already is not killed. */
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

  /** Whether the target had no fault until now. */
  #strike(kind: FaultKind, target: string, strike: () => Promise<void>): boolean {
    if (this.#struck.has(target)) return false
    if (this.#isCalm && (target === 'network' || target === this.#fleet.coordinator.name))
      return false
    const over = this.#journal.record(kind, target, strike)
    // The end of all shows with the next wait, or at the end.
    const forgotten = over.finally(() => this.#struck.delete(target))
    forgotten.catch(() => {})
    this.#struck.set(target, forgotten)
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
