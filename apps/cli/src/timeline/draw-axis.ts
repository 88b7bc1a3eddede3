import type { Opening } from '@tenure/history'
import { showTime } from '../terminal/format.js'
import { lines, type Markup, markup } from './markup.js'
import type { TimeScale } from './scale.js'

/** The labels of the time axis. */
export function drawTimes(scale: TimeScale, y: number): Markup {
  const labels = scale.ticks.map(
    ({ x, label }) =>
      markup`<text class="axis" text-anchor="middle" x="${x}" y="${y}">${label}</text>`,
  )
  return markup`<g class="times">${labels}</g>
`
}

export function drawGrid(scale: TimeScale, top: number, bottom: number): Markup {
  const path = scale.ticks.map(({ x }) => markup`M${x} ${top}V${bottom}`)
  return markup`<path class="grid" d="${path}"/>
`
}

const labelWidth = 72
/** Openings closer than this share a line. */
const lineGap = 2

/** Lines where a coordinator opened the log, labelled with the epoch if there is space. */
export function drawOpenings(
  openings: readonly Opening[],
  scale: TimeScale,
  top: number,
  bottom: number,
): Markup {
  let lastLine = Number.NEGATIVE_INFINITY
  let lastLabel = Number.NEGATIVE_INFINITY
  const drawn = openings.map(({ epoch, at, firstLsn }) => {
    const x = scale.x(at)
    if (x - lastLine < lineGap) return undefined
    lastLine = x
    const hasLabel = x - lastLabel >= labelWidth
    if (hasLabel) lastLabel = x
    const title = lines(
      `epoch ${epoch}: a coordinator opened the log`,
      showTime(at),
      `first LSN ${firstLsn}`,
    )
    return markup`<g><title>${title}</title><path class="restart" d="M${x} ${top + 4}V${bottom}"/>${
      hasLabel
        ? markup`<text class="epoch" text-anchor="middle" x="${x}" y="${top}">epoch ${epoch}</text>`
        : undefined
    }</g>`
  })
  return markup`<g class="openings">${drawn}</g>
`
}
