import type { TrackedAttempt } from '@tenure/history/internal'
import type { Wait } from './course.js'
import { Bins, overlaps, type Span } from './span.js'

/** A task or a worker over time. */
export interface Lane {
  readonly name: string
  /** Beside the name: the queue of a task. */
  readonly note: string
  /** What became of it. */
  readonly outcome: string
  /** In the order in which they were granted. */
  readonly attempts: readonly LaneAttempt[]
  readonly waits: readonly Wait[]
  /** Attempts that are only counted. */
  readonly rest: Rest | undefined
}

export type LaneAttempt = Omit<TrackedAttempt, 'heartbeats'> & { readonly pulse: Pulse }

export interface Rest {
  readonly running: Bins
  /** By how they ended. */
  readonly outcomes: ReadonlyMap<Outcome, number>
}

export type Outcome = 'COMPLETED' | 'FAILED' | 'EXPIRED' | 'DEAD' | 'OPEN'

export function outcomeOf({ end }: Pick<TrackedAttempt, 'end'>): Outcome {
  return end?.outcome ?? 'OPEN'
}

/**
 * When the worker was last heard of under this lease, before it ended; `undefined` where the
 * heartbeats that may have come were removed.
 */
export function lastSignOf({ pulse, grantedAt }: LaneAttempt): number | undefined {
  return pulse.ticks.at(-1) ?? (pulse.isWhole ? grantedAt : undefined)
}

/** Until when there was something of it: at least a thin line, up to the report that came too late. */
export function lastMomentOf({
  end,
  lateReport,
}: Pick<TrackedAttempt, 'end' | 'lateReport'>): number {
  return lateReport?.at ?? end?.at ?? Number.POSITIVE_INFINITY
}

const ticksMax = 256

/** The heartbeats of one attempt. Of very many only every second, fourth … is kept, and always the last. */
export class Pulse {
  /** No heartbeat was removed with the beginning of the log. */
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

/** More than that no lane shows one by one. */
const attemptsMax = 400
export const restPieces = 160

/** A lane while records are read. */
export class LaneDraft {
  readonly #span: Span
  readonly #recordedFrom: number
  readonly #kept = new Map<number, TrackedAttempt>()
  readonly #pulses = new Map<number, Pulse>()
  readonly #surplus = new Set<number>()
  readonly #running: Bins
  readonly #outcomes = new Map<Outcome, number>()

  /** `recordedFrom`: the first LSN whose record is left. */
  constructor(span: Span, recordedFrom: number) {
    this.#span = span
    this.#recordedFrom = recordedFrom
    this.#running = new Bins(span, restPieces)
  }

  /** Gives the lease of an attempt that it has dropped, and that nobody has to know any longer. */
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

  /** Whether the attempt can be forgotten: it is counted, and is not drawn. */
  end(attempt: TrackedAttempt): boolean {
    if (!this.#surplus.delete(attempt.leaseId)) return false
    this.count(attempt)
    return true
  }

  /** Those that still run when the reading ends are counted, too. */
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

  /** Makes room: what was over before the span began is not seen, unless a report comes late. */
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
