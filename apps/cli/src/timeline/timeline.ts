import type { Opening, Position } from '@tenure/history'
import { collect, type Overview } from './collector.js'
import type { Lane } from './lane.js'
import type { LanesBy } from './ranking.js'
import { findRepeatedTasks, type Recording } from './recording.js'
import { contains, type Span } from './span.js'
import { survey } from './survey.js'

export interface TimelineOptions {
  readonly lanesBy: LanesBy
  readonly lanesMax: number
  readonly from?: Position | undefined
  readonly to?: Position | undefined
  /** Leaves out tasks with fewer than two attempts. */
  readonly onlyRepeated?: boolean
}

/** The contents of a picture, independent of pixels. */
export interface Timeline {
  readonly name: string
  readonly span: Span
  readonly firstLsn: number
  readonly lastLsn: number
  /** Records before this LSN were removed from the log. */
  readonly removedBefore: number | undefined
  readonly lanesBy: LanesBy
  readonly onlyRepeated: boolean
  readonly lanes: readonly Lane[]
  /** Number of lanes to choose from; `rule` tells how these were chosen. */
  readonly lanesTotal: number
  readonly rule: string
  readonly overview: Overview
  /** Openings of the log within the span. */
  readonly openings: readonly Opening[]
}

/** Reads the recording two or three times. `undefined` if the span contains no record. */
export async function makeTimeline(
  recording: Recording,
  { lanesBy, lanesMax, from, to, onlyRepeated = false }: TimelineOptions,
): Promise<Timeline | undefined> {
  const lastLsn = to !== undefined && 'lsn' in to ? to.lsn : undefined
  const onlyTasks = onlyRepeated ? await findRepeatedTasks(recording, lastLsn) : undefined
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
    onlyRepeated,
    lanes,
    lanesTotal,
    rule,
    overview,
    openings: recording.openings.filter(({ at }) => contains(span, at)),
  }
}
