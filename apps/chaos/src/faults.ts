import { setTimeout } from 'node:timers/promises'
import type { Random } from '@tenure/testing'
import { type Fleet, leaseMs } from './fleet.js'
import type { Network } from './network.js'
import type { Seat } from './seat.js'

type Range = readonly [leastMs: number, mostMs: number]

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

export interface FaultCounts {
  kills: number
  stops: number
  /** Processes that were started in the place of one that was killed. */
  restarts: number
  /** Of the kills, those of the coordinator. */
  coordinatorKills: number
  /** How often answers were lost and lines broken, and how often nothing came through for a while. */
  cuts: number
  stalls: number
}

export function noFaults(): FaultCounts {
  return { kills: 0, stops: 0, restarts: 0, coordinatorKills: 0, cuts: 0, stalls: 0 }
}

/**
 * Kills and stops processes, cuts and stalls the network, until the time is over; returns when all is
 * well again. What has a fault is left alone until that is over; several may have one at once.
 */
export async function injectFaults(
  fleet: Fleet,
  random: Random,
  timeMs: number,
  counts: FaultCounts,
  signal: AbortSignal,
): Promise<void> {
  const struck = new Map<Seat | Network, Promise<void>>()
  const end = performance.now() + timeMs
  while (performance.now() < end) {
    await setTimeout(within(random, betweenMs), undefined, { signal })
    const fault = pickFault(random)
    const worker = random.pick(fleet.workers)
    const wait = setTimeout.bind(undefined, within(random, fault.forMs), undefined, { signal })
    const target = fault.target === 'worker' ? worker : fleet[fault.target]
    if (struck.has(target)) continue
    const over = strike(fleet, worker, fault, counts, random.fork(), wait)
    // The end of all shows with the next wait, or at the end.
    const forgotten = over.finally(() => struck.delete(target))
    forgotten.catch(() => {})
    struck.set(target, forgotten)
  }
  await Promise.all(struck.values())
}

async function strike(
  fleet: Fleet,
  worker: Seat,
  { kind, target }: Fault,
  counts: FaultCounts,
  random: Random,
  wait: () => Promise<unknown>,
): Promise<void> {
  const seat = target === 'worker' ? worker : fleet.coordinator
  switch (kind) {
    case 'stop':
      counts.stops++
      seat.pause()
      await wait()
      seat.resume()
      break
    case 'kill':
      counts.kills++
      if (target === 'coordinator') counts.coordinatorKills++
      await seat.kill()
      await wait()
      counts.restarts++
      seat.start()
      break
    case 'cut': {
      counts.cuts++
      const cut = fleet.network.lose(() => random.chance(0.5))
      await wait()
      cut()
      break
    }
    case 'stall':
      counts.stalls++
      fleet.network.stall()
      await wait()
      fleet.network.flow()
      break
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
