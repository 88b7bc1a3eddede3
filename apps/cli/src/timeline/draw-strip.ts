import { type Markup, markup } from './markup.js'
import type { TimeScale } from './scale.js'

/** How much there was at each time, as an area; its height is that of the most. */
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
    // What is there at all is seen.
    const top = amount === 0 ? 0 : Math.max(1, (amount / most) * height)
    return top === 0
      ? undefined
      : markup`M${scale.left + at * step} ${base}v${-top}h${step}v${top}z`
  })
  return markup`<path class="strip ${kind}" d="${columns}"/><path class="grid" d="M${scale.left} ${base}H${scale.right}"/>`
}
