import { setTimeout } from 'node:timers/promises'
import type { Random } from '@tenure/testing'
import { type Fleet, leaseMs } from './fleet.js'
import type { Seat } from './seat.js'

type Range = readonly [leastMs: number, mostMs: number]

interface Fault {
  readonly share: number
  readonly target: 'coordinator' | 'worker'
  readonly kind: 'kill' | 'stop'
  /** How long the process is away, or stands still. */
  readonly forMs: Range
}

/** What can happen. The coordinator is one of many processes, but all depend on it. */
const faults: readonly Fault[] = [
  { share: 40, target: 'worker', kind: 'kill', forMs: [0, 2000] },
  { share: 15, target: 'worker', kind: 'stop', forMs: [50, leaseMs * 0.8] },
  { share: 20, target: 'worker', kind: 'stop', forMs: [leaseMs, leaseMs * 3] },
  { share: 13, target: 'coordinator', kind: 'kill', forMs: [0, 1500] },
  { share: 8, target: 'coordinator', kind: 'stop', forMs: [50, leaseMs * 0.8] },
  { share: 4, target: 'coordinator', kind: 'stop', forMs: [leaseMs, leaseMs * 2] },
]

const betweenMs: Range = [100, 1300]

export interface FaultCounts {
  kills: number
  stops: number
  /** Processes that were started in the place of one that was killed. */
  restarts: number
  /** Of the kills, those of the coordinator. */
  coordinatorKills: number
}

/**
 * Kills and stops processes until the time is over, and returns when all of them run again. A seat
 * that has a fault is left alone until that is over; several may have one at once.
 */
export async function injectFaults(
  fleet: Fleet,
  random: Random,
  timeMs: number,
  counts: FaultCounts,
  signal: AbortSignal,
): Promise<void> {
  const struck = new Map<Seat, Promise<void>>()
  const end = performance.now() + timeMs
  while (performance.now() < end) {
    await setTimeout(within(random, betweenMs), undefined, { signal })
    const fault = pickFault(random)
    const seat = fault.target === 'worker' ? random.pick(fleet.workers) : fleet.coordinator
    const forMs = within(random, fault.forMs)
    if (struck.has(seat)) continue
    const over = strike(seat, fault, forMs, counts, signal).finally(() => struck.delete(seat))
    // The end of all shows with the next wait, or at the end.
    over.catch(() => {})
    struck.set(seat, over)
  }
  await Promise.all(struck.values())
}

async function strike(
  seat: Seat,
  { kind, target }: Fault,
  forMs: number,
  counts: FaultCounts,
  signal: AbortSignal,
): Promise<void> {
  if (kind === 'stop') {
    counts.stops++
    seat.pause()
    await setTimeout(forMs, undefined, { signal })
    seat.resume()
    return
  }
  counts.kills++
  if (target === 'coordinator') counts.coordinatorKills++
  await seat.kill()
  await setTimeout(forMs, undefined, { signal })
  counts.restarts++
  seat.start()
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
