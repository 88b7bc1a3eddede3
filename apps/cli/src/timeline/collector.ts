import { AttemptTracker, type TrackedAttempt } from '@tenure/history/internal'
import { type Lane, LaneDraft, restPieces } from './lane.js'
import { TaskLifecycle } from './lifecycle.js'
import { keyOf, type LaneKey, type LanesBy } from './ranking.js'
import { follow, type Recording, type Step } from './recording.js'
import { Bins, contains, overlaps, type Span } from './span.js'
import type { Survey } from './survey.js'

export interface Collected {
  readonly lanes: readonly Lane[]
  readonly overview: Overview
}

/** The second reading: collects the drawn lanes, and counts all attempts. */
export async function collect(
  recording: Recording,
  found: Survey,
  lanesBy: LanesBy,
  onlyTasks?: ReadonlySet<number>,
): Promise<Collected> {
  const collector = new Collector(found, lanesBy, recording.firstLsn)
  const { tracker } = collector
  const which = { lastLsn: found.lastLsn, onlyTasks }
  for await (const step of follow(recording, tracker, which)) collector.add(step)
  return collector.finish()
}

class Collector {
  readonly tracker = new AttemptTracker()
  readonly #lanesBy: LanesBy
  readonly #overview: Overview
  readonly #drafts = new Map<LaneKey, LaneDraft>()
  readonly #courses = new Map<LaneKey, TaskLifecycle>()
  /** Counted leases: a remembered end may also have a record. */
  readonly #counted = new Set<number>()

  constructor(found: Survey, lanesBy: LanesBy, recordedFrom: number) {
    this.#lanesBy = lanesBy
    this.#overview = new Overview(found.span)
    for (const key of found.lanes) {
      this.#drafts.set(key, new LaneDraft(found.span, recordedFrom))
      if (lanesBy === 'tasks') this.#courses.set(key, new TaskLifecycle())
    }
  }

  add(step: Step): void {
    const { record, attempt } = step
    if ('taskId' in record) this.#courses.get(record.taskId)?.add(step)
    if (record.type === 'TaskCancelled') this.#overview.addLateReport(record.at)
    if (attempt === undefined) return
    const draft = this.#drafts.get(keyOf(this.#lanesBy, attempt))
    if (record.type === 'LeaseGranted') {
      const dropped = draft?.begin(attempt)
      if (dropped !== undefined) this.tracker.forget(dropped)
    } else if (record.type === 'LeaseExtended') draft?.beat(record.leaseId, record.at)
    else if (attempt.end !== undefined && record.type !== 'TaskCancelled') {
      this.#end(step, draft)
    }
  }

  finish(): Collected {
    for (const attempt of this.tracker.all()) {
      if (attempt.end !== undefined) continue
      this.#overview.addRunning(attempt)
      const draft = this.#drafts.get(keyOf(this.#lanesBy, attempt))
      draft?.end(attempt)
    }
    const lanes = [...this.#drafts].map(([key, draft]) => this.#finish(key, draft))
    return { lanes: lanes.sort(byBeginning), overview: this.#overview }
  }

  #end({ attempt }: Step, draft: LaneDraft | undefined): void {
    if (attempt === undefined) return
    if (!this.#counted.has(attempt.leaseId)) this.#overview.addEnded(attempt)
    if (draft === undefined || draft.end(attempt)) this.tracker.forget(attempt.leaseId)
    else this.#counted.add(attempt.leaseId)
  }

  #finish(key: LaneKey, draft: LaneDraft): Lane {
    const course = this.#courses.get(key)
    if (course === undefined) {
      return draft.finish({ name: String(key), note: '', outcome: '' }, [])
    }
    const outcome = course.state ?? ''
    return draft.finish({ name: `task ${key}`, note: course.queue, outcome }, course.allWaits)
  }
}

/** The picture runs from the upper left to the lower right. */
function byBeginning(a: Lane, b: Lane): number {
  return beginningOf(a) - beginningOf(b)
}

function beginningOf({ waits, attempts }: Lane): number {
  return Math.min(
    waits[0]?.from ?? Number.POSITIVE_INFINITY,
    attempts[0]?.grantedAt ?? Number.POSITIVE_INFINITY,
  )
}

export const endings = ['COMPLETED', 'FAILED', 'EXPIRED', 'DEAD'] as const

/** Counts all attempts of the span, drawn or not. */
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

  /** Number of attempts that ran within the span. */
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
