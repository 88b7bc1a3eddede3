import { type BarBox, findOverlapBoxes, type OverlapBox, placeBar } from './bar-box.js'
import { type Lane, type LaneAttempt, lastMomentOf, restPieces } from './lane.js'
import type { Metrics, TimeScale } from './scale.js'
import { Bins } from './span.js'

/** A lane in pixels, relative to its own top. */
export interface LaneBox {
  readonly lane: Lane
  readonly height: number
  readonly bars: readonly BarBox[]
  /** The row of each wait, by its place in the lane's list. */
  readonly waitRows: readonly number[]
  readonly twice: readonly OverlapBox[]
  readonly rest: RestBox | undefined
}

/** The strip below the bars for attempts that are only counted. */
interface RestBox {
  readonly y: number
  readonly amounts: readonly number[]
  readonly attempts: number
}

export function layOut(lane: Lane, scale: TimeScale, metrics: Metrics): LaneBox {
  const { barHeight, rowGap, restHeight, lanePadding, rowsMax } = metrics
  const rows = pack(
    lane.attempts.map((attempt) => extentOf(attempt, lane, scale)),
    rowsMax,
  )
  const yOf = (row: number) => lanePadding + row * (barHeight + rowGap)
  const bars = lane.attempts.flatMap((attempt, at) => {
    const row = rows[at]
    return row === undefined ? [] : [placeBar(attempt, scale, yOf(row), barHeight)]
  })
  const unplaced = lane.attempts.filter((_, at) => rows[at] === undefined)
  const rowCount = Math.max(1, ...rows.map((row = 0) => row + 1))
  const y = yOf(rowCount)
  const rest = placeRest(lane, unplaced, scale, y)
  const height = y - rowGap + lanePadding + (rest === undefined ? 0 : restHeight + rowGap)
  const waitRows = findWaitRows(lane, rows)
  return { lane, height, bars, waitRows, twice: findOverlapBoxes(bars), rest }
}

/** From the start of the wait before the attempt to its late report. */
function extentOf(attempt: LaneAttempt, lane: Lane, scale: TimeScale): Extent {
  const wait = lane.waits.find(({ leaseId }) => leaseId === attempt.leaseId)
  const bar = placeBar(attempt, scale, 0, 0)
  const right = scale.x(lastMomentOf(attempt))
  const late = attempt.lateReport === undefined ? 0 : lateMarkWidth
  return {
    left: Math.min(bar.x, wait === undefined ? bar.x : scale.x(wait.from)),
    right: Math.max(bar.x + bar.width, right) + late,
  }
}

const lateMarkWidth = 8

/** A wait is in the row of the attempt that ended it. */
function findWaitRows(lane: Lane, rows: readonly (number | undefined)[]): number[] {
  return lane.waits.map(({ leaseId }) => {
    const at = lane.attempts.findIndex((attempt) => attempt.leaseId === leaseId)
    const lastRow = lane.attempts.at(-1)?.lateReport === undefined ? (rows.at(-1) ?? 0) : 1
    return at === -1 ? lastRow : (rows[at] ?? 0)
  })
}

function placeRest(
  { rest }: Lane,
  unplaced: readonly LaneAttempt[],
  { span }: TimeScale,
  y: number,
): RestBox | undefined {
  if (rest === undefined && unplaced.length === 0) return undefined
  const own = new Bins(span, restPieces)
  for (const { grantedAt, end } of unplaced) {
    // If only the late report lies within the span, the overview counts it.
    if (end === undefined || end.at >= span.from) own.addSpan(grantedAt, end?.at ?? span.to)
  }
  const others = rest?.running
  const amounts = own.amounts.map((amount, at) => amount + (others?.amounts[at] ?? 0))
  return { y, amounts, attempts: own.count + (others?.count ?? 0) }
}

interface Extent {
  readonly left: number
  readonly right: number
}

/** The first free row for each extent, so that none overlap; `undefined` if all rows are taken. */
function pack(extents: readonly Extent[], rowsMax: number): (number | undefined)[] {
  const ends: number[] = []
  return extents.map(({ left, right }) => {
    const free = ends.findIndex((end) => end <= left)
    const row = free === -1 ? ends.length : free
    if (row >= rowsMax) return undefined
    ends[row] = right
    return row
  })
}
