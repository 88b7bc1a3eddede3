import type { Look } from '../terminal/look.js'
import { type Cell, showTable } from '../terminal/table.js'

/** Names and what they stand for; what is not known is left out. */
export type Facts = readonly (readonly [name: string, value: Cell | undefined])[]

export function showFacts(facts: Facts, look: Look): string {
  const known = facts.flatMap(([name, value]): Cell[][] => {
    return value === undefined ? [] : [[{ text: name, style: 'head' }, value]]
  })
  return showTable(known, { look })
}
