import { showDuration } from '../terminal/format.js'
import { endings, type Overview } from './collector.js'
import { outcomeClasses } from './draw-bar.js'
import { type Markup, markup } from './markup.js'
import type { TimeScale } from './scale.js'
import { outcomeWords } from './words.js'

const stripHeight = 26
const stripGap = 10

interface Strip {
  readonly kind: string
  readonly name: string
  readonly fact: string
  readonly amounts: readonly number[]
}

/** Strips that count every attempt. */
export function drawOverview(overview: Overview, scale: TimeScale, y: number) {
  const strips = stripsOf(overview, scale)
  const drawn = strips.map((strip, at) => drawOne(strip, scale, y + at * (stripHeight + stripGap)))
  return {
    height: strips.length * (stripHeight + stripGap),
    drawn: markup`<g class="overview">${drawn}</g>`,
  }
}

function drawOne({ kind, name, fact, amounts }: Strip, scale: TimeScale, y: number): Markup {
  const base = y + stripHeight - 3
  return markup`<g><title>${name}: ${fact}</title>${drawStrip(amounts, scale, y, stripHeight, kind)}<text class="name" text-anchor="end" x="${scale.left - 14}" y="${base}">${name}</text><text class="note" x="${scale.right + 16}" y="${base}">${fact}</text></g>
`
}

function stripsOf({ running, endings: ends, lateReports }: Overview, { span }: TimeScale): Strip[] {
  const { amounts } = running
  const piece = showDuration((span.to - span.from) / amounts.length)
  const most = Math.max(...amounts)
  const shown = most.toLocaleString('en', { maximumFractionDigits: most < 10 ? 1 : 0 })
  const events = [
    ...endings.map((end) => ({
      kind: outcomeClasses[end],
      name: outcomeWords[end],
      bins: ends[end],
    })),
    { kind: 'late', name: 'late reports', bins: lateReports },
  ]
  return [
    { kind: 'running', name: 'concurrent', fact: `at most ${shown}`, amounts },
    ...events
      .filter(({ bins }) => bins.count > 0)
      .map(({ kind, name, bins }) => {
        const highest = Math.max(...bins.amounts).toLocaleString('en')
        const fact = `${bins.count.toLocaleString('en')}, ≤ ${highest} in ${piece}`
        return { kind, name, fact, amounts: bins.amounts }
      }),
  ]
}

/** An area chart of amounts over time, scaled to the largest amount. */
export function drawStrip(
  amounts: readonly number[],
  scale: TimeScale,
  y: number,
  height: number,
  kind: string,
): Markup {
  const most = Math.max(...amounts)
  const step = scale.width / amounts.length
  const base = y + height
  const columns = amounts.map((amount, at) => {
    // Every amount above 0 is visible.
    const top = amount === 0 ? 0 : Math.max(1, (amount / most) * height)
    return top === 0
      ? undefined
      : markup`M${scale.left + at * step} ${base}v${-top}h${step}v${top}z`
  })
  return markup`<path class="strip ${kind}" d="${columns}"/><path class="grid" d="M${scale.left} ${base}H${scale.right}"/>`
}
