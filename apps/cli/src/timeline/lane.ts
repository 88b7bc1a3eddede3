import type { TrackedAttempt } from '@tenure/history/internal'
import type { Wait } from './lifecycle.js'
import { Bins, overlaps, type Span } from './span.js'

/** A task or a worker over time. */
export interface Lane {
  readonly name: string
  /** The queue of a task. */
  readonly note: string
  /** The state of the task, or empty for a worker. */
  readonly outcome: string
  /** In the order of their leases. */
  readonly attempts: readonly LaneAttempt[]
  readonly waits: readonly Wait[]
  /** Attempts that are counted but not drawn. */
  readonly rest: Rest | undefined
}

export type LaneAttempt = Omit<TrackedAttempt, 'heartbeats'> & { readonly pulse: Pulse }

export interface Rest {
  readonly running: Bins
  readonly outcomes: ReadonlyMap<Outcome, number>
}

export type Outcome = 'COMPLETED' | 'FAILED' | 'EXPIRED' | 'DEAD' | 'OPEN'

export function outcomeOf({ end }: Pick<TrackedAttempt, 'end'>): Outcome {
  return end?.outcome ?? 'OPEN'
}

/**
 * The last time the worker was heard from under this lease before it ended. `undefined` if heartbeats
 * may have been removed.
 */
export function lastSignOf({ pulse, grantedAt }: LaneAttempt): number | undefined {
  return pulse.ticks.at(-1) ?? (pulse.isWhole ? grantedAt : undefined)
}

/** The end of the attempt, or its late report. */
export function lastMomentOf({
  end,
  lateReport,
}: Pick<TrackedAttempt, 'end' | 'lateReport'>): number {
  return lateReport?.at ?? end?.at ?? Number.POSITIVE_INFINITY
}

const ticksMax = 256

/** The heartbeats of one attempt. Of very many, it keeps only every second, fourth, … and the last. */
export class Pulse {
  /** No heartbeat was removed from the log. */
  readonly isWhole: boolean
  #kept: number[] = []
  #every = 1
  #last: number | undefined
  count = 0

  constructor(isWhole = true) {
    this.isWhole = isWhole
  }

  add(at: number): void {
    if (this.count % this.#every === 0) this.#kept.push(at)
    this.count++
    this.#last = at
    if (this.#kept.length < ticksMax) return
    this.#kept = this.#kept.filter((_, index) => index % 2 === 0)
    this.#every *= 2
  }

  get ticks(): readonly number[] {
    const last = this.#last
    return last === undefined || this.#kept.at(-1) === last ? this.#kept : [...this.#kept, last]
  }
}

/** Maximum number of attempts drawn in a lane. */
const attemptsMax = 400
export const restPieces = 160

/** Builds a lane while records are read. */
export class LaneDraft {
  readonly #span: Span
  readonly #recordedFrom: number
  readonly #kept = new Map<number, TrackedAttempt>()
  readonly #pulses = new Map<number, Pulse>()
  readonly #surplus = new Set<number>()
  readonly #running: Bins
  readonly #outcomes = new Map<Outcome, number>()

  /** `recordedFrom` is the first LSN that was not removed. */
  constructor(span: Span, recordedFrom: number) {
    this.#span = span
    this.#recordedFrom = recordedFrom
    this.#running = new Bins(span, restPieces)
  }

  /** Returns the lease of a dropped attempt, which the tracker can forget. */
  begin(attempt: TrackedAttempt): number | undefined {
    const dropped = this.#kept.size >= attemptsMax ? this.#dropEarlier() : undefined
    if (this.#kept.size < attemptsMax) {
      this.#kept.set(attempt.leaseId, attempt)
      this.#pulses.set(attempt.leaseId, new Pulse(attempt.leaseId >= this.#recordedFrom))
    } else this.#surplus.add(attempt.leaseId)
    return dropped
  }

  beat(leaseId: number, at: number): void {
    this.#pulses.get(leaseId)?.add(at)
  }

  /** Returns `true` if the attempt is only counted, so that the tracker can forget it. */
  end(attempt: TrackedAttempt): boolean {
    if (!this.#surplus.delete(attempt.leaseId)) return false
    this.count(attempt)
    return true
  }

  count(attempt: TrackedAttempt): void {
    const end = attempt.end?.at ?? this.#span.to
    if (!overlaps(this.#span, attempt.grantedAt, end)) return
    const outcome = outcomeOf(attempt)
    this.#running.addSpan(attempt.grantedAt, end)
    this.#outcomes.set(outcome, (this.#outcomes.get(outcome) ?? 0) + 1)
  }

  finish(texts: Pick<Lane, 'name' | 'note' | 'outcome'>, waits: readonly Wait[]): Lane {
    const attempts = [...this.#kept.values()]
      .filter((attempt) => overlaps(this.#span, attempt.grantedAt, lastMomentOf(attempt)))
      .map((attempt) => this.#withPulse(attempt))
    const within = waits.filter(({ from, to = this.#span.to }) => overlaps(this.#span, from, to))
    return { ...texts, attempts, waits: within, rest: this.#rest() }
  }

  #withPulse(attempt: TrackedAttempt): LaneAttempt {
    return { ...attempt, pulse: this.#pulses.get(attempt.leaseId) ?? new Pulse() }
  }

  #rest(): Rest | undefined {
    if (this.#running.count === 0) return undefined
    return { running: this.#running, outcomes: this.#outcomes }
  }

  /** Drops an attempt that ended before the span; only a late report could still show it. */
  #dropEarlier(): number | undefined {
    for (const { leaseId, end } of this.#kept.values()) {
      if (end === undefined || end.at >= this.#span.from) continue
      this.#kept.delete(leaseId)
      this.#pulses.delete(leaseId)
      return leaseId
    }
    return undefined
  }
}
