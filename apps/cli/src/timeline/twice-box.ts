import type { BarBox } from './bar-box.js'
import type { LaneAttempt } from './lane.js'

/** Where a worker went on without authority while another one had it, as its late report proves. */
export interface TwiceBox {
  readonly late: LaneAttempt
  readonly other: LaneAttempt
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

export function findTwiceBoxes(bars: readonly BarBox[]): TwiceBox[] {
  return bars.flatMap((late) => bars.flatMap((other) => findBetween(late, other)))
}

function findBetween(late: BarBox, other: BarBox): TwiceBox[] {
  const { lateX, attempt } = late
  const isLater = other.attempt.leaseId > attempt.leaseId && other.attempt.taskId === attempt.taskId
  if (!isLater || lateX === undefined || lateX <= other.x) return []
  const width = Math.min(lateX, other.x + other.width) - other.x
  const y = Math.min(late.y, other.y)
  const height = Math.max(late.y, other.y) + other.height - y
  return [{ late: attempt, other: other.attempt, x: other.x, y, width, height }]
}
