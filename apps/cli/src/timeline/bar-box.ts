import { type LaneAttempt, lastSignOf, type Outcome, outcomeOf } from './lane.js'
import type { TimeScale } from './scale.js'

/** An attempt in pixels. */
export interface BarBox {
  readonly attempt: LaneAttempt
  readonly outcome: Outcome
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
  /** The part up to the last sign of life of the worker; the rest fades. */
  readonly solidWidth: number
  readonly beats: readonly number[]
  readonly lateX: number | undefined
}

const widthMin = 2
/** Heartbeats closer than this are drawn as one. */
const beatGap = 3

export function placeBar(
  attempt: LaneAttempt,
  scale: TimeScale,
  y: number,
  height: number,
): BarBox {
  const { grantedAt, end, lateReport, pulse } = attempt
  const outcome = outcomeOf(attempt)
  const granted = scale.x(grantedAt)
  const right = scale.x(end?.at ?? scale.span.to)
  // Widen very short bars; at the end of the axis, to the left.
  const width = Math.max(widthMin, right - granted)
  const x = Math.min(granted, scale.right - width)
  const fades = outcome === 'EXPIRED' || outcome === 'OPEN'
  const lastSign = lastSignOf(attempt)
  const isFading = fades && lastSign !== undefined
  const solidWidth = isFading ? Math.max(0, scale.x(lastSign) - x) : width
  return {
    attempt,
    outcome,
    x,
    y,
    width,
    height,
    solidWidth: Math.min(width, solidWidth),
    beats: thin(
      pulse.ticks
        .filter((at) => at >= scale.span.from && at <= scale.span.to)
        .map((at) => scale.x(at)),
    ),
    lateX: lateReport && scale.x(lateReport.at),
  }
}

function thin(places: readonly number[]): number[] {
  const kept: number[] = []
  for (const place of places) {
    if (kept.length === 0 || place - kept.at(-1)! >= beatGap) kept.push(place)
  }
  return kept
}

/** The time in which two attempts executed concurrently, as the late report of one proves. */
export interface OverlapBox {
  readonly late: LaneAttempt
  readonly other: LaneAttempt
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

export function findOverlapBoxes(bars: readonly BarBox[]): OverlapBox[] {
  return bars.flatMap((late) => bars.flatMap((other) => findBetween(late, other)))
}

function findBetween(late: BarBox, other: BarBox): OverlapBox[] {
  const { lateX, attempt } = late
  const isLater = other.attempt.leaseId > attempt.leaseId && other.attempt.taskId === attempt.taskId
  if (!isLater || lateX === undefined || lateX <= other.x) return []
  const width = Math.min(lateX, other.x + other.width) - other.x
  const y = Math.min(late.y, other.y)
  const height = Math.max(late.y, other.y) + other.height - y
  return [{ late: attempt, other: other.attempt, x: other.x, y, width, height }]
}
