import type { Opening, Position } from '@tenure/history'
import { collect, type Overview } from './collector.js'
import type { Lane } from './lane.js'
import type { LanesBy } from './ranking.js'
import { findTwice, type Recording } from './recording.js'
import { contains, type Span } from './span.js'
import { survey } from './survey.js'

export interface TimelineOptions {
  readonly lanesBy: LanesBy
  readonly lanesMax: number
  readonly from?: Position | undefined
  readonly to?: Position | undefined
  /** Leaves out tasks that were leased once or never. */
  readonly onlyTwice?: boolean
}

/** Everything that a picture shows. Nothing in it knows of pixels. */
export interface Timeline {
  readonly name: string
  readonly span: Span
  readonly firstLsn: number
  readonly lastLsn: number
  /** What came before this LSN was removed from the log. */
  readonly removedBefore: number | undefined
  readonly lanesBy: LanesBy
  readonly onlyTwice: boolean
  readonly lanes: readonly Lane[]
  /** How many there are to choose from, and how these were chosen. */
  readonly lanesTotal: number
  readonly rule: string
  readonly overview: Overview
  /** Where coordinators opened the log, within the span. */
  readonly openings: readonly Opening[]
}

/** Reads the recording twice or three times. `undefined` if nothing is recorded in the span. */
export async function makeTimeline(
  recording: Recording,
  { lanesBy, lanesMax, from, to, onlyTwice = false }: TimelineOptions,
): Promise<Timeline | undefined> {
  const lastLsn = to !== undefined && 'lsn' in to ? to.lsn : undefined
  const onlyTasks = onlyTwice ? await findTwice(recording, lastLsn) : undefined
  const found = await survey(recording, { lanesBy, lanesMax, from, to, onlyTasks })
  if (found === undefined) return undefined
  const { lanes, overview } = await collect(recording, found, lanesBy, onlyTasks)
  const { span, lanesTotal, rule } = found
  const { name, firstLsn } = recording
  return {
    name,
    span,
    firstLsn: found.firstLsn,
    lastLsn: found.lastLsn,
    removedBefore: firstLsn > 1 ? firstLsn : undefined,
    lanesBy,
    onlyTwice,
    lanes,
    lanesTotal,
    rule,
    overview,
    openings: recording.openings.filter(({ at }) => contains(span, at)),
  }
}
