import type { Position } from '@tenure/history'
import { AttemptTracker, type TrackedAttempt } from '@tenure/history/internal'
import { createRanking, type LaneKey, type LanesBy, type Ranking } from './ranking.js'
import { follow, type Recording, type Step } from './recording.js'
import type { Span } from './span.js'

export interface SurveyOptions {
  readonly from?: Position | undefined
  readonly to?: Position | undefined
  readonly lanesBy: LanesBy
  /** Maximum number of lanes to draw. */
  readonly lanesMax: number
  readonly onlyTasks?: ReadonlySet<number> | undefined
}

/** The result of the first reading: the span, and the lanes to draw. */
export interface Survey {
  readonly span: Span
  readonly firstLsn: number
  readonly lastLsn: number
  readonly lanes: ReadonlySet<LaneKey>
  readonly lanesTotal: number
  readonly rule: string
}

/** `undefined` if the span contains no record. */
export async function survey(
  recording: Recording,
  options: SurveyOptions,
): Promise<Survey | undefined> {
  const ranking = createRanking(options.lanesBy, options.lanesMax)
  const found = await walk(recording, ranking, options)
  if (found?.first === undefined) return undefined
  const { first, last } = found
  return {
    span: { from: first.at, to: Math.max(last.at, first.at + spanMsMin) },
    firstLsn: first.lsn,
    lastLsn: last.lsn,
    lanes: ranking.choose(),
    lanesTotal: ranking.total,
    rule: ranking.rule,
  }
}

/** The time axis needs a length above 0. */
const spanMsMin = 10

interface Place {
  readonly lsn: number
  readonly at: number
}

async function walk(
  recording: Recording,
  ranking: Ranking,
  { from, to, onlyTasks }: SurveyOptions,
): Promise<Walk | undefined> {
  const walk = new Walk(ranking)
  for await (const step of follow(recording, walk.tracker, { onlyTasks })) {
    if (isAfter(to, step)) break
    walk.add(step, !isBefore(from, step))
  }
  return walk.first === undefined ? undefined : walk
}

/** Passes the attempts and records within the span to the ranking. */
class Walk {
  readonly tracker = new AttemptTracker()
  readonly #ranking: Ranking
  /** The span may begin within a millisecond, which is then shown whole. */
  #justEnded: TrackedAttempt[] = []
  first: Place | undefined
  last: Place = { lsn: 0, at: 0 }

  constructor(ranking: Ranking) {
    this.#ranking = ranking
  }

  add({ lsn, record, attempt }: Step, isWithin: boolean): void {
    const { at } = record
    if (isWithin) {
      if (this.first === undefined) this.#begin(lsn, at)
      this.last = { lsn, at }
      if (record.type === 'LeaseGranted') this.#ranking.addAttempt(attempt!)
      this.#ranking.addRecord(record, attempt)
    }
    if (attempt?.end === undefined) return
    this.tracker.forget(attempt.leaseId)
    if (this.#justEnded[0]?.end?.at !== at) this.#justEnded = []
    this.#justEnded.push(attempt)
  }

  #begin(lsn: number, at: number): void {
    this.first = { lsn, at }
    const ended = this.#justEnded.filter(({ end }) => end?.at === at)
    for (const attempt of [...ended, ...this.tracker.all()]) {
      if (attempt.leaseId !== lsn) this.#ranking.addAttempt(attempt)
    }
  }
}

function isBefore(from: Position | undefined, { lsn, record }: Step): boolean {
  if (from === undefined) return false
  return 'lsn' in from ? lsn < from.lsn : record.at < from.at
}

function isAfter(to: Position | undefined, { lsn, record }: Step): boolean {
  if (to === undefined) return false
  return 'lsn' in to ? lsn > to.lsn : record.at > to.at
}
