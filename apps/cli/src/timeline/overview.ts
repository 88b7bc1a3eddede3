import type { TrackedAttempt } from '@tenure/history'
import { Bins } from './bins.js'
import { restPieces } from './lane-draft.js'
import { contains, overlaps, type Span } from './span.js'

export const endings = ['COMPLETED', 'FAILED', 'EXPIRED', 'DEAD'] as const

/** All attempts of the span, drawn or not, in a few strips. */
export class Overview {
  readonly #span: Span
  readonly running: Bins
  readonly endings: Readonly<Record<(typeof endings)[number], Bins>>
  readonly lateReports: Bins

  constructor(span: Span) {
    const bins = () => new Bins(span, restPieces)
    this.#span = span
    this.running = bins()
    this.endings = { COMPLETED: bins(), FAILED: bins(), EXPIRED: bins(), DEAD: bins() }
    this.lateReports = bins()
  }

  /** How many attempts there were, or ran, in the span. */
  get attempts(): number {
    return this.running.count
  }

  addEnded({ grantedAt, end }: TrackedAttempt): void {
    if (end === undefined || !overlaps(this.#span, grantedAt, end.at)) return
    this.running.addSpan(grantedAt, end.at)
    if (contains(this.#span, end.at)) this.endings[end.outcome].addEvent(end.at)
  }

  addRunning({ grantedAt }: TrackedAttempt): void {
    this.running.addSpan(grantedAt, this.#span.to)
  }

  addLateReport(at: number): void {
    if (contains(this.#span, at)) this.lateReports.addEvent(at)
  }
}
