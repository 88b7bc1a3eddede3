import type { TrackedAttempt } from '@tenure/history'
import type { LogRecord } from '@tenure/state-machine'
import type { Ranking } from './ranking.js'

interface Interest {
  attempts: number
  expired: number
}

/** Workers under whom leases expired first. */
export class WorkerRanking implements Ranking {
  readonly rule = 'those whose leases expired most often first, then by attempts'
  readonly #most: number
  readonly #workers = new Map<string, Interest>()

  constructor(most: number) {
    this.#most = most
  }

  get total(): number {
    return this.#workers.size
  }

  addAttempt({ workerId }: TrackedAttempt): void {
    const interest = this.#workers.get(workerId)
    if (interest === undefined) this.#workers.set(workerId, { attempts: 1, expired: 0 })
    else interest.attempts++
  }

  addRecord(record: LogRecord, attempt: TrackedAttempt | undefined): void {
    const interest = attempt && this.#workers.get(attempt.workerId)
    if (interest !== undefined && record.type === 'LeaseExpired') interest.expired++
  }

  choose(): ReadonlySet<string> {
    const best = [...this.#workers].sort(byInterest).slice(0, this.#most)
    return new Set(best.map(([workerId]) => workerId))
  }
}

function byInterest([a, first]: [string, Interest], [b, second]: [string, Interest]): number {
  return second.expired - first.expired || second.attempts - first.attempts || (a < b ? -1 : 1)
}
