import { showDuration } from '../terminal/format.js'
import type { BarBox, OverlapBox } from './bar-box.js'
import { drawBar, drawMarks } from './draw-bar.js'
import { drawStrip } from './draw-overview.js'
import type { LaneBox } from './layout.js'
import type { Wait } from './lifecycle.js'
import { fit, type Markup, markup } from './markup.js'
import { boldFont, type Metrics, type TimeScale } from './scale.js'

import { count, describeLane } from './words.js'

export interface LaneFrame {
  readonly scale: TimeScale
  readonly metrics: Metrics
  readonly left: number
  /** The text inside a bar. */
  readonly inside: (box: BarBox) => string
}

export function drawLane(box: LaneBox, y: number, frame: LaneFrame): Markup {
  const { lane, bars, rest } = box
  const { scale, metrics, left, inside } = frame
  const base = metrics.lanePadding + metrics.barHeight / 2 + 4
  return markup`<g class="lane" transform="translate(0 ${y})">
<text class="name" text-anchor="end" x="${scale.left - 14}" y="${base}"><title>${lane.name}</title>${
    lane.note === '' ? undefined : markup`<tspan class="note">${fit(lane.note, 11, 90)}  </tspan>`
  }${fit(lane.name, boldFont, scale.left - left - 20)}</text>
<text class="note" x="${scale.right + 16}" y="${base}">${describeLane(lane)}</text>
${lane.waits.map((wait, at) => drawWait(wait, yOfRow(box.waitRows[at] ?? 0, metrics), scale))}
${box.twice.map(drawOverlap)}${bars.map((bar) => drawBar(bar, inside(bar), metrics.barFont))}<g class="marks">${bars.map(drawMarks)}</g>${
    rest === undefined
      ? undefined
      : markup`<g><title>${count(rest.attempts, 'attempt')} without a bar of their own: number of concurrent attempts</title>${drawStrip(rest.amounts, scale, rest.y, metrics.restHeight, 'counted')}<text class="note" x="${scale.right + 16}" y="${rest.y + metrics.restHeight - 2}">${count(rest.attempts, 'more', 'more')}</text></g>`
  }</g>
`
}

function yOfRow(row: number, { lanePadding, barHeight, rowGap }: Metrics): number {
  return lanePadding + row * (barHeight + rowGap) + barHeight / 2
}

function drawWait({ from, eligibleAt, to }: Wait, y: number, scale: TimeScale) {
  const [start, middle, end] = [
    from,
    Math.min(eligibleAt, to ?? scale.span.to),
    to ?? scale.span.to,
  ]
  const [a, b, c] = [scale.x(start), scale.x(middle), scale.x(end)]
  if (c - a < 0.5) return undefined
  const later = b > a ? markup`<path class="wait later" d="M${a} ${y}H${b}"/>` : undefined
  const waits = c > b ? markup`<path class="wait" d="M${b} ${y}H${c}M${b} ${y - 3}v6"/>` : undefined
  return markup`<g><title>waited ${showDuration(end - start)}${
    middle > start ? `, eligible after ${showDuration(middle - start)}` : ''
  }</title>${later}${waits}</g>`
}

function drawOverlap({ late, other, x, y, width, height }: OverlapBox): Markup {
  const title = `executed concurrently: attempt ${late.attempt}, without authority, and attempt ${other.attempt}`
  return markup`<rect class="twice" x="${x}" y="${y}" width="${width}" height="${height}"><title>${title}</title></rect>`
}
