import { drawGrid, drawOpenings, drawTimes } from './draw-axis.js'
import { definitions } from './draw-bar.js'
import { drawLane } from './draw-lane.js'
import { drawLegend, type Shown } from './draw-legend.js'
import { drawOverview } from './draw-overview.js'
import { type LaneBox, layOut } from './layout.js'
import { fit, type Markup, markup, wrap } from './markup.js'
import {
  type Metrics,
  margin,
  metricsFor,
  pictureWidth,
  placeScale,
  pictureRight as right,
  type TimeScale,
} from './scale.js'

import { styleOf, type Theme } from './theme.js'
import type { Timeline } from './timeline.js'
import { describeContent, describeTitle } from './words.js'

/** A self-contained picture. */
export function drawSvg(timeline: Timeline, theme: Theme): string {
  return `${drawPicture(timeline, { style: styleOf(theme), title: describeTitle(timeline) }).text}\n`
}

/** Parts that an HTML page provides itself. */
export interface StandaloneParts {
  readonly style?: Markup
  readonly title?: string
}

export function drawPicture(timeline: Timeline, { style, title }: StandaloneParts = {}): Markup {
  const metrics = metricsFor(timeline.lanes.length)
  const scale = placeScale(timeline)
  const lanes = timeline.lanes.map((lane) => layOut(lane, scale, metrics))
  const head = drawHead(timeline, title)
  const legend = drawLegend(shownIn(timeline, lanes), margin, right, head.height + 8)
  const isCounted = timeline.lanes.length < timeline.lanesTotal || lanes.some(hasRest)
  const top = head.height + legend.height + 30
  const overview = isCounted ? drawOverview(timeline.overview, scale, top) : undefined
  const axis = top + (overview === undefined ? 0 : overview.height + 6)
  const body = drawLanes(timeline, lanes, scale, metrics, axis + 28)
  const height = body.bottom + 34
  return markup`<svg xmlns="http://www.w3.org/2000/svg" class="timeline" viewBox="0 0 ${pictureWidth} ${height}" width="${pictureWidth}" height="${height}" role="img" aria-label="${describeTitle(timeline)}">
<desc>${describeContent(timeline).join(' ')}</desc>
${style && markup`<style>${style}</style>`}
${definitions()}
<rect class="back" width="${pictureWidth}" height="${height}"/>
${head.drawn}${legend.drawn}
${overview?.drawn}${body.drawn}${drawTimes(scale, axis)}${drawTimes(scale, body.bottom + 16)}${drawOpenings(timeline.openings, scale, axis + 17, body.bottom)}</svg>`
}

const hasRest = ({ rest }: LaneBox) => rest !== undefined

function drawHead(timeline: Timeline, title?: string) {
  const texts = describeContent(timeline).flatMap((text) => wrap(text, 12, right - margin))
  const first = title === undefined ? 20 : 60
  const drawn = markup`${
    title &&
    markup`<text class="title" x="${margin}" y="38">${fit(title, 18, right - margin)}</text>`
  }
${texts.map((text, at) => markup`<text class="small" x="${margin}" y="${first + at * 18}">${text}</text>`)}
`
  return { height: first + 6 + texts.length * 18, drawn }
}

function drawLanes(
  { lanesBy }: Timeline,
  lanes: readonly LaneBox[],
  scale: TimeScale,
  metrics: Metrics,
  top: number,
) {
  const inside = ({ attempt }: LaneBox['bars'][number]) =>
    lanesBy === 'tasks' ? attempt.workerId : `task ${attempt.taskId}`
  const frame = { scale, metrics, left: margin, inside }
  let y = top
  const bands: (Markup | undefined)[] = []
  const drawn = lanes.map((box, index) => {
    if (index % 2 === 0) bands.push(drawBand(y, box.height))
    const lane = drawLane(box, y, frame)
    y += box.height
    return lane
  })
  return { bottom: y, drawn: markup`${bands}${drawGrid(scale, top, y)}${drawn}` }
}

/** The background of every second lane. */
function drawBand(y: number, height: number): Markup {
  return markup`<rect class="band" x="${margin}" y="${y}" width="${right - margin}" height="${height}"/>
`
}

function shownIn({ openings }: Timeline, lanes: readonly LaneBox[]): Shown {
  const waits = lanes.flatMap(({ lane }) => lane.waits)
  const bars = lanes.flatMap(({ bars }) => bars)
  return {
    bars,
    hasWaits: waits.some(({ eligibleAt, to }) => to === undefined || to > eligibleAt),
    hasLaterWaits: waits.some(({ from, eligibleAt }) => eligibleAt > from),
    hasOverlaps: lanes.some(({ twice }) => twice.length > 0),
    hasOpenings: openings.length > 0,
    hasRest: lanes.some(hasRest),
  }
}
