import { utcTicks } from 'd3-time'
import type { Span } from './span.js'

export interface Tick {
  readonly x: number
  readonly label: string
}

/** From times to places on the axis, which nothing leaves. */
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

  /** Whole minutes, hours, days … about so many as there is room for. */
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
