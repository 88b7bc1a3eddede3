import type { Outcome } from './lane.js'
import { type Markup, markup } from './markup.js'

/** What every outcome looks like beside its colour: nobody has to see colours to read the picture. */
export const outcomeClasses: Readonly<Record<Outcome, string>> = {
  COMPLETED: 'completed',
  FAILED: 'failed',
  EXPIRED: 'expired',
  DEAD: 'dead',
  OPEN: 'running',
}

/** Their height. */
export const markSize = 13

/** A mark in its place; its centre is there. */
export function mark(kind: string, x: number, y: number, size = markSize): Markup {
  const place = markup`translate(${x} ${y}) scale(${size / markSize})`
  return markup`<use href="#mark-${kind}" class="${kind}" transform="${place}"/>`
}

const fadingClasses = ['expired', 'running']

/** Once in each picture; everything else refers to it. */
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

/** From owned to hardly owned. */
function fade(name: string): Markup {
  return markup`<linearGradient id="fade-${name}" class="${name}"><stop stop-color="var(--own)"/><stop offset="1" stop-color="var(--own)" stop-opacity=".1"/></linearGradient>
`
}
