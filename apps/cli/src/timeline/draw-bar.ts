import type { BarBox } from './bar-box.js'
import type { Outcome } from './lane.js'
import { fit, lines, type Markup, markup } from './markup.js'

import { describeAttempt } from './words.js'

/** An attempt with its heartbeats, and the time until its late report. */
export function drawBar(box: BarBox, inside: string, font: number): Markup {
  const { attempt, outcome, x, y, width, height, lateX } = box
  const kind = outcomeClasses[outcome]
  const end = x + width
  const middle = y + height / 2
  return markup`<g class="attempt ${kind}" data-lease="${attempt.leaseId}"><title>${lines(...describeAttempt(attempt))}</title>${
    lateX !== undefined && lateX > end
      ? markup`<path class="beyond" d="M${end} ${middle}H${lateX}"/>`
      : undefined
  }${drawBody(box, kind)}${drawBeats(box)}${drawInside(box, inside, font)}</g>
`
}

/** The marks of the end and of a late report, drawn above all bars because the next bar may follow immediately. */
export function drawMarks({ outcome, x, y, width, height, lateX }: BarBox): Markup {
  const middle = y + height / 2
  const size = Math.min(markSize, height - 3)
  const late = lateX === undefined ? undefined : mark('late', lateX, middle, size)
  // A completed bar that is too narrow for its mark stays plain.
  if (outcome === 'COMPLETED' && width < size + 2) return markup`${late}`
  // An expiry is marked at its time; a report is marked inside the bar that it ends.
  const back = outcome !== 'EXPIRED' && width >= size + 2 ? size / 2 + 2 : 0
  return markup`${mark(outcomeClasses[outcome], x + width - back, middle, size)}${late}`
}

type Body = Pick<BarBox, 'outcome' | 'x' | 'y' | 'width' | 'height' | 'solidWidth'>

function drawBody({ outcome, x, y, width, height, solidWidth }: Body, kind: string): Markup {
  const rect = (className: string, from: number, length: number, fill?: string) =>
    length <= 0
      ? undefined
      : markup`<rect class="${className}" x="${from}" y="${y}" width="${length}" height="${height}"${
          fill === undefined ? undefined : markup` style="fill:url(#${fill})"`
        }/>`
  const pattern = outcome === 'FAILED' ? 'stripes' : outcome === 'DEAD' ? 'crosses' : undefined
  const fading = width - solidWidth
  // A gap separates bars that follow each other immediately.
  const gap = width > 4 && fading === 0 ? 0.8 : 0
  return markup`${rect('bar', x, solidWidth - gap)}${rect('bar', x + solidWidth, fading, `fade-${kind}`)}${
    pattern && rect('pattern', x, width - gap, pattern)
  }${fading > 2 ? markup`<rect class="edge" x="${x + 0.5}" y="${y + 0.5}" width="${width - 1}" height="${height - 1}"/>` : undefined}`
}

function drawBeats({ beats, y, height }: BarBox): Markup | undefined {
  if (beats.length === 0) return undefined
  const length = Math.min(6, height / 4)
  const path = beats.map((place) => markup`M${place} ${y + height}v${-length}`)
  return markup`<path class="beat" d="${path}"/>`
}

/** Fewer of a longer name say nothing. */
const charactersMin = 9

/** The text inside the solid part, before the mark at the end. */
function drawInside({ x, y, width, height, solidWidth }: BarBox, text: string, font: number) {
  const room = Math.min(solidWidth, width - markSize - 2) - 8
  const whole = fit(text, font, room)
  const shown = whole === text || whole.length >= charactersMin ? whole : ''
  if (shown === '') return undefined
  return markup`<text class="inside" x="${x + 5}" y="${y + height / 2 + font * 0.3}" font-size="${font}">${shown}</text>`
}

/** A sample for the legend. */
export function drawBarSample(outcome: Outcome, x: number, y: number): Markup {
  const kind = outcomeClasses[outcome]
  const fades = outcome === 'EXPIRED' || outcome === 'OPEN'
  const box = { outcome, x, y: y - 6, width: 24, height: 12, solidWidth: fades ? 8 : 24 }
  return markup`<g class="${kind}">${drawBody(box, kind)}</g>${mark(kind, x + 24, y)}`
}

/** Each outcome also has a mark, so that the picture is readable without colours. */
export const outcomeClasses: Readonly<Record<Outcome, string>> = {
  COMPLETED: 'completed',
  FAILED: 'failed',
  EXPIRED: 'expired',
  DEAD: 'dead',
  OPEN: 'running',
}

/** Height of a mark. */
const markSize = 13

/** A mark with its centre at (x, y). */
export function mark(kind: string, x: number, y: number, size = markSize): Markup {
  const place = markup`translate(${x} ${y}) scale(${size / markSize})`
  return markup`<use href="#mark-${kind}" class="${kind}" transform="${place}"/>`
}

const fadingClasses = ['expired', 'running']

/** Patterns and marks that the rest of the picture refers to. */
export function definitions(): Markup {
  return markup`<defs>
${fadingClasses.map(fade)}
<pattern id="stripes" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path class="stripes" d="M0 0V6"/></pattern>
<pattern id="crosses" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path class="stripes" d="M0 0V6M0 0H6"/></pattern>
<pattern id="twice" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)"><path class="twice-line" d="M0 0V5"/></pattern>
<g id="mark-completed"><circle class="mark" r="6"/><path class="sign" d="M-2.7 .2L-.8 2.2L2.8 -2"/></g>
<g id="mark-failed"><circle class="mark" r="6"/><path class="sign" d="M-2.3 -2.3L2.3 2.3M2.3 -2.3L-2.3 2.3"/></g>
<g id="mark-expired"><path class="mark time" d="M-5 -6.5H5L-5 6.5H5Z"/></g>
<g id="mark-dead"><path class="mark" d="M-5.5 -5.5H5.5V5.5H-5.5Z"/><path class="sign" d="M-2.8 0H2.8"/></g>
<g id="mark-running"><path class="mark" d="M-4 -6L6 0L-4 6Z"/></g>
<g id="mark-late"><circle class="hollow" r="5"/><path class="hollow" d="M-3.3 3.3L3.3 -3.3"/></g>
</defs>`
}

/** A gradient for the time after the last sign of life. */
function fade(name: string): Markup {
  return markup`<linearGradient id="fade-${name}" class="${name}"><stop stop-color="var(--own)"/><stop offset="1" stop-color="var(--own)" stop-opacity=".1"/></linearGradient>
`
}
