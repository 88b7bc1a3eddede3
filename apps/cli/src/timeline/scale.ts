import { utcTicks } from 'd3-time'
import { widthOf } from './markup.js'
import type { Span } from './span.js'
import type { Timeline } from './timeline.js'
import { describeLane } from './words.js'

/** Sizes in pixels. */
export interface Metrics {
  readonly barHeight: number
  readonly rowGap: number
  readonly lanePadding: number
  readonly restHeight: number
  readonly rowsMax: number
  readonly barFont: number
}

const roomy: Metrics = {
  barHeight: 22,
  rowGap: 5,
  lanePadding: 8,
  restHeight: 16,
  rowsMax: 6,
  barFont: 11,
}

const compact: Metrics = {
  barHeight: 13,
  rowGap: 3,
  lanePadding: 4,
  restHeight: 11,
  rowsMax: 6,
  barFont: 9,
}

export function metricsFor(lanes: number): Metrics {
  return lanes > 14 ? compact : roomy
}

export const pictureWidth = 1200
export const margin = 24
export const pictureRight = pictureWidth - margin
/** A bold font of 12 pixels is as wide as a regular one of 13.5. */
export const boldFont = 13.5

export interface Tick {
  readonly x: number
  readonly label: string
}

/** Maps times to places on the axis; times outside the span go to its ends. */
export class TimeScale {
  readonly span: Span
  readonly left: number
  readonly width: number

  constructor(span: Span, left: number, width: number) {
    this.span = span
    this.left = left
    this.width = width
  }

  get right(): number {
    return this.left + this.width
  }

  x(at: number): number {
    const { from, to } = this.span
    const share = (at - from) / (to - from)
    return this.left + Math.max(0, Math.min(1, share)) * this.width
  }

  /** Whole minutes, hours or days, as many as fit. */
  get ticks(): Tick[] {
    const { from, to } = this.span
    const times = utcTicks(new Date(from), new Date(to), Math.max(2, this.width / 110))
    const step = times.length > 1 ? times[1]!.getTime() - times[0]!.getTime() : to - from
    return times.map((time) => ({ x: this.x(time.getTime()), label: labelOf(time, step) }))
  }
}

function labelOf(time: Date, step: number): string {
  const iso = time.toISOString()
  if (step >= 86_400_000 || iso.endsWith('T00:00:00.000Z')) return iso.slice(0, 10)
  if (step >= 60_000) return iso.slice(11, 16)
  return step >= 1000 ? iso.slice(11, 19) : iso.slice(11, 23)
}

/** The axis lies between the names and the outcomes, whose widths vary. */
export function placeScale({ lanes, span }: Timeline): TimeScale {
  const names = lanes.map(
    ({ name, note }) => widthOf(name, boldFont) + Math.min(90, widthOf(note, 11)) + 8,
  )
  const ends = lanes.map((lane) => widthOf(describeLane(lane), 11))
  const left = margin + Math.max(110, Math.min(220, Math.max(0, ...names))) + 24
  const end = pictureRight - Math.max(150, ...ends) - 16
  return new TimeScale(span, left, end - left)
}
