import { getLease, leasedTasks, nextEligible, nextExpiry } from '@tenure/state-machine'
import { getCurrentLeaseId, getSummary } from '@tenure/state-machine/internal'
import type { Random } from '@tenure/testing'
import { Book, type Submission } from '@tenure/testing-histories'

export const recordedKnobs = {
  leaseDurationMs: 10_000,
  maxRetries: 2,
  backoff: { kind: 'exponential', initialMs: 500, maxMs: 4000 },
  poisonThreshold: 3,
} as const

export interface Habits {
  readonly steps?: number
  /** Coordinators crash sometimes. */
  readonly restarts?: boolean
  /** Execution windows, some shorter than attempts. */
  readonly windows?: readonly number[]
}

/**
 * A history as written by a coordinator with these knobs, with workers that are late, fail or
 * disappear.
 */
export function randomBook(random: Random, habits: Habits = {}): Book {
  const { steps = 300, restarts = true, windows = [3_600_000] } = habits
  const { leaseDurationMs: leaseMs, maxRetries, backoff } = recordedKnobs
  const book = new Book({ leaseMs })
  const lost: number[] = []
  const leases = () =>
    [...leasedTasks(book.state)].map((taskId) => getCurrentLeaseId(book.state, taskId)!)
  const submission = (): Submission => ({
    executionWindowMs: random.pick(windows),
    retryPolicy: { maxRetries, backoff },
  })
  const onLease = (act: (leaseId: number) => unknown) => {
    const all = leases()
    if (all.length > 0) act(random.pick(all))
  }
  const acts: [weight: number, act: () => unknown][] = [
    [3, () => book.submit(submission())],
    [4, () => lease(book, random)],
    [8, () => onLease((leaseId) => extend(book, leaseId))],
    [2, () => onLease((leaseId) => book.complete(leaseId))],
    [2, () => onLease((leaseId) => book.fail(leaseId))],
    [2, () => lost.length > 0 && book.cancel(lost.splice(random.integer(lost.length), 1)[0]!)],
    [restarts ? 0.3 : 0, () => expireDue(book.wait(random.integer(20_000)).restart(), lost, true)],
    [0.2, () => onLease((leaseId) => book.kill(getLease(book.state, leaseId)!.taskId))],
  ]
  const total = acts.reduce((sum, [weight]) => sum + weight, 0)
  for (let step = 0; step < steps; step++) {
    book.wait(random.integer(random.chance(0.1) ? 8000 : 800))
    expireDue(book, lost, false)
    let at = random.next() * total
    acts.find(([weight]) => {
      at -= weight
      return at < 0
    })?.[1]()
  }
  return book
}

function lease(book: Book, random: Random): void {
  const taskId = nextEligible(book.state, ['default'], book.now)
  if (taskId !== undefined) book.lease(taskId, `w-${random.integer(5)}`)
}

function extend(book: Book, leaseId: number): void {
  const { leaseExpiry, windowEnd } = getLease(book.state, leaseId)!
  if (Math.min(book.now + book.leaseMs, windowEnd) > leaseExpiry) book.extend(leaseId)
}

/** Each a little late, as with a timer. Poison tasks are stopped immediately. */
function expireDue(book: Book, lost: number[], atStart: boolean): void {
  for (let next = nextExpiry(book.state); next !== undefined; next = nextExpiry(book.state)) {
    if (next.at > book.now) return
    const { taskId } = getLease(book.state, next.leaseId)!
    book.expire(next.leaseId, atStart)
    lost.push(next.leaseId)
    const row = getSummary(book.state, taskId)!.expiriesInARow
    if (row >= recordedKnobs.poisonThreshold) {
      book.kill(taskId, `poison: ${row} leases in a row expired`)
    }
  }
}
