import { describeAction } from './machine/action.js'
import type { Finding, Search } from './search.js'

/** The result of an exploration. */
export interface Summary {
  /** Distinct states of the whole system, added up over all parts. */
  readonly states: number
  readonly violations: number
  /** Steps taken from these states. */
  readonly transitions: number
  /** Number of actions to the state farthest from the start. */
  readonly longestPath: number
  readonly seconds: number
  /** Every state within the bounds was visited. */
  readonly complete: boolean
  readonly parts: readonly Part[]
  readonly violation: DescribedViolation | undefined
}

/** The result of one scope. */
export interface Part {
  readonly name: string
  readonly states: number
  /** Distinct states of its logs. */
  readonly durableStates: number
  readonly transitions: number
  readonly longestPath: number
  readonly seconds: number
  readonly complete: boolean
}

export interface DescribedViolation {
  readonly rule: string
  readonly found: string
  /** A shortest path. */
  readonly path: readonly string[]
}

export function describePart(name: string, search: Search, elapsedMs: number): Part {
  const { states, durableStates, transitions, longestPath, isComplete } = search
  const seconds = Math.round(elapsedMs / 100) / 10
  return { name, states, durableStates, transitions, longestPath, seconds, complete: isComplete }
}

export function summarize(
  parts: readonly Part[],
  violation: DescribedViolation | undefined,
): Summary {
  const sum = (of: (part: Part) => number) => parts.reduce((sum, part) => sum + of(part), 0)
  return {
    states: sum(({ states }) => states),
    violations: violation === undefined ? 0 : 1,
    transitions: sum(({ transitions }) => transitions),
    longestPath: Math.max(...parts.map(({ longestPath }) => longestPath)),
    seconds: Math.round(sum(({ seconds }) => seconds) * 10) / 10,
    complete: parts.every(({ complete }) => complete),
    parts,
    violation,
  }
}

export function describeFinding({ rule, found, path }: Finding): DescribedViolation {
  return { rule, found, path: path.map(describeAction) }
}

export function describeSummary({ parts, violation }: Summary): string {
  const end = violation === undefined ? 'all checks hold' : describeViolation(violation)
  return [...parts.map(describeNumbers), end].join('\n')
}

function describeNumbers(part: Part): string {
  const { name, states, durableStates, transitions, longestPath, seconds, complete } = part
  const perSecond = Math.round(states / Math.max(seconds, 0.1))
  return `${name}
  states        ${states}, ${complete ? 'complete' : 'incomplete'}
  log states    ${durableStates}
  transitions   ${transitions}, the longest path has ${longestPath}
  time          ${seconds} s, ${perSecond} states/s`
}

function describeViolation({ rule, found, path }: DescribedViolation): string {
  const steps = path.map((step, index) => `${String(index).padStart(4)}  ${step}`)
  return [`VIOLATED        ${rule}`, `                ${found}`, ...steps].join('\n')
}
