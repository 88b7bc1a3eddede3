import type { BarBox } from './bar-box.js'
import { drawBarSample, mark } from './draw-bar.js'
import type { Outcome } from './lane.js'
import { type Markup, markup, widthOf } from './markup.js'

const font = 12
const rowHeight = 22
const iconWidth = 40

interface Item {
  readonly text: string
  readonly icon: (x: number, y: number) => Markup
}

export interface Legend {
  readonly height: number
  readonly drawn: Markup
}

/** Explains only the symbols that the picture contains. */
export function drawLegend(shown: Shown, left: number, right: number, top: number): Legend {
  const items = itemsOf(shown)
  let x = left
  let y = top
  const drawn = items.map(({ text, icon }) => {
    const width = iconWidth + widthOf(text, font) + 14
    if (x + width > right && x > left) {
      x = left
      y += rowHeight
    }
    const item = markup`<g>${icon(x, y)}<text class="small" x="${x + iconWidth}" y="${y + 4}">${text}</text></g>`
    x += width
    return item
  })
  return { height: y - top + rowHeight, drawn: markup`<g class="legend">${drawn}</g>` }
}

export interface Shown {
  readonly bars: readonly BarBox[]
  readonly hasWaits: boolean
  readonly hasLaterWaits: boolean
  readonly hasOverlaps: boolean
  readonly hasOpenings: boolean
  readonly hasRest: boolean
}

const outcomeTexts: readonly [Outcome, string][] = [
  ['COMPLETED', 'completed'],
  ['FAILED', 'failed'],
  ['EXPIRED', 'lease expired; fades after the last sign of life'],
  ['DEAD', 'stopped'],
  ['OPEN', 'open: its lease has not ended'],
]

function itemsOf({
  bars,
  hasWaits,
  hasLaterWaits,
  hasOverlaps,
  hasOpenings,
  hasRest,
}: Shown): Item[] {
  const line = (className: string, d: string) => (x: number, y: number) =>
    markup`<path class="${className}" transform="translate(${x} ${y})" d="${d}"/>`
  const outcomes = outcomeTexts.filter(([outcome]) => bars.some((bar) => bar.outcome === outcome))
  const others: [boolean, Item][] = [
    [bars.some(({ beats }) => beats.length > 0), { text: 'heartbeat', icon: drawBeatSample }],
    [
      bars.some(({ lateX }) => lateX !== undefined),
      { text: 'late report, CANCELLED', icon: drawLateSample },
    ],
    [hasOverlaps, { text: 'two concurrent attempts', icon: drawOverlapSample }],
    [hasWaits, { text: 'waiting, eligible', icon: line('wait', 'M0 0H28M0 -3v6') }],
    [hasLaterWaits, { text: 'not yet eligible', icon: line('wait later', 'M0 0H28') }],
    [hasOpenings, { text: 'a coordinator started', icon: line('restart', 'M14 -8V8') }],
    [hasRest, { text: 'more attempts, only counted', icon: drawRestSample }],
  ]
  return [
    ...outcomes.map(([outcome, text]) => ({
      text,
      icon: (x: number, y: number) => drawBarSample(outcome, x, y),
    })),
    ...others.filter(([isShown]) => isShown).map(([, item]) => item),
  ]
}

function drawBeatSample(x: number, y: number): Markup {
  return markup`<g class="running"><rect class="bar" x="${x}" y="${y - 6}" width="28" height="12"/></g><path class="beat" d="M${x + 7} ${y + 6}v-5M${x + 14} ${y + 6}v-5M${x + 21} ${y + 6}v-5"/>`
}

function drawLateSample(x: number, y: number): Markup {
  return markup`<path class="beyond" d="M${x} ${y}H${x + 22}"/>${mark('late', x + 23, y)}`
}

function drawOverlapSample(x: number, y: number): Markup {
  return markup`<rect class="twice" x="${x}" y="${y - 7}" width="28" height="14"/>`
}

function drawRestSample(x: number, y: number): Markup {
  return markup`<path class="strip counted" transform="translate(${x} ${y + 6})" d="M0 0v-4h7v-6h7v3h7v-4h7v11z"/>`
}
