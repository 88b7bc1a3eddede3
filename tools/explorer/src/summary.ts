import { describeAction } from './machine/action.js'
import type { Finding, Search } from './search.js'

/** What an exploration comes to. */
export interface Summary {
  /** Different states of the whole system that were visited, those of all parts added up. */
  readonly states: number
  readonly violations: number
  /** Steps that were taken from them. */
  readonly transitions: number
  /** How many actions lead to the state that is farthest from the beginning. */
  readonly longestPath: number
  readonly seconds: number
  /** Nothing within the bounds is left. */
  readonly complete: boolean
  readonly parts: readonly Part[]
  readonly violation: DescribedViolation | undefined
}

/** What one scope comes to. */
export interface Part {
  readonly name: string
  readonly states: number
  /** Different states that its logs give. */
  readonly durableStates: number
  readonly transitions: number
  readonly longestPath: number
  readonly seconds: number
  readonly complete: boolean
}

interface DescribedViolation {
  readonly rule: string
  readonly found: string
  /** The shortest there is. */
  readonly path: readonly string[]
}

export function describePart(name: string, search: Search, elapsedMs: number): Part {
  const { states, durableStates, transitions, longestPath, isComplete } = search
  const seconds = Math.round(elapsedMs / 100) / 10
  return { name, states, durableStates, transitions, longestPath, seconds, complete: isComplete }
}

export function summarize(parts: readonly Part[], finding: Finding | undefined): Summary {
  const sum = (of: (part: Part) => number) => parts.reduce((sum, part) => sum + of(part), 0)
  return {
    states: sum(({ states }) => states),
    violations: finding === undefined ? 0 : 1,
    transitions: sum(({ transitions }) => transitions),
    longestPath: Math.max(...parts.map(({ longestPath }) => longestPath)),
    seconds: Math.round(sum(({ seconds }) => seconds) * 10) / 10,
    complete: parts.every(({ complete }) => complete),
    parts,
    violation: finding && describeFinding(finding),
  }
}

function describeFinding({ rule, found, path }: Finding): DescribedViolation {
  return { rule, found, path: path.map(describeAction) }
}

export function describeSummary({ parts, violation }: Summary): string {
  const end = violation === undefined ? 'everything holds' : describeViolation(violation)
  return [...parts.map(describeNumbers), end].join('\n')
}

function describeNumbers(part: Part): string {
  const { name, states, durableStates, transitions, longestPath, seconds, complete } = part
  const perSecond = Math.round(states / Math.max(seconds, 0.1))
  return `${name}
  states        ${states}, ${complete ? 'all there are' : 'and there are more'}
  of the log    ${durableStates}
  transitions   ${transitions}, the longest path has ${longestPath}
  time          ${seconds} s, ${perSecond} states/s`
}

function describeViolation({ rule, found, path }: DescribedViolation): string {
  const steps = path.map((step, index) => `${String(index).padStart(4)}  ${step}`)
  return [`VIOLATED        ${rule}`, `                ${found}`, ...steps].join('\n')
}
