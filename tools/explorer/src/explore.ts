import type { Subject } from './machine/subject.js'
import type { Scope } from './scope.js'
import { type Finding, Search } from './search.js'
import { type DuelScope, exploreDuel } from './shared/explore-duel.js'
import { describeFinding, describePart, type Part, type Summary, summarize } from './summary.js'

export interface ExploreOptions {
  readonly scopes: readonly Scope[]
  readonly duels: readonly DuelScope[]
  readonly subject: Subject
  readonly statesMax?: number
  readonly onProgress?: (search: Search) => void
  /** Called with the states of two coordinators that were found so far. */
  readonly onDuelProgress?: (states: number) => void
}

/**
 * Visits everything, one scope after the other. After a fault it searches for the shortest path to
 * one.
 */
export async function explore(options: ExploreOptions): Promise<Summary> {
  const parts: Part[] = []
  for (const scope of options.scopes) {
    const startedMs = performance.now()
    const search = new Search({ ...options, scope, order: 'states' })
    const finding = await search.run()
    const shortest = finding && (await shorten(options, scope, finding))
    parts.push(describePart(scope.name, search, performance.now() - startedMs))
    if (shortest !== undefined) return summarize(parts, describeFinding(shortest))
  }
  const { statesMax, onDuelProgress: onProgress } = options
  for (const duel of options.duels) {
    const { violation, ...part } = await exploreDuel(duel, { statesMax, onProgress })
    parts.push(part)
    if (violation !== undefined) return summarize(parts, violation)
  }
  return summarize(parts, undefined)
}

async function shorten(options: ExploreOptions, scope: Scope, finding: Finding): Promise<Finding> {
  const depthMax = finding.path.length - 2
  const search = new Search({ ...options, scope, order: 'depth', depthMax })
  return (await search.run()) ?? finding
}
