import { boldFont } from './draw-lane.js'
import { margin, pictureRight } from './metrics.js'
import { TimeScale } from './scale.js'
import { widthOf } from './text-width.js'
import type { Timeline } from './timeline.js'
import { tellLane } from './words.js'

/** The axis stands between the names and what became of them, whose widths differ. */
export function placeScale({ lanes, span }: Timeline): TimeScale {
  const names = lanes.map(
    ({ name, note }) => widthOf(name, boldFont) + Math.min(90, widthOf(note, 11)) + 8,
  )
  const ends = lanes.map((lane) => widthOf(tellLane(lane), 11))
  const left = margin + Math.max(110, Math.min(220, Math.max(0, ...names))) + 24
  const end = pictureRight - Math.max(150, ...ends) - 16
  return new TimeScale(span, left, end - left)
}
