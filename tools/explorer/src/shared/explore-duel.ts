import { Violation } from '@tenure/harness'
import type { DescribedViolation, Part } from '../summary.js'
import { type Budget, Duel, type DuelSubject, shippedDuel } from './duel.js'

export interface DuelScope {
  readonly name: string
  readonly budget: Budget
}

export const quickDuels: readonly DuelScope[] = [
  {
    name: 'two coordinators: a take-over, with one message lost',
    budget: { submissions: 1, questions: 1, losses: 1, late: 0, restarts: 0, ticks: 4 },
  },
]

export const fullDuels: readonly DuelScope[] = [
  {
    name: 'two coordinators: messages lost',
    budget: { submissions: 1, questions: 1, losses: 2, late: 0, restarts: 0, ticks: 5 },
  },
  {
    name: 'two coordinators: an append that arrives late',
    budget: { submissions: 1, questions: 1, losses: 0, late: 1, restarts: 0, ticks: 8 },
  },
  {
    name: 'two coordinators: a restart',
    budget: { submissions: 1, questions: 1, losses: 0, late: 0, restarts: 1, ticks: 6 },
  },
]

/** The result of one scope. */
export interface DuelSummary extends Part {
  readonly violation: DescribedViolation | undefined
}

/**
 * Visits every state of two coordinators within the budget, shortest paths first. A state is made anew
 * from its path, because promises cannot be copied.
 */
export async function exploreDuel(
  { name, budget }: DuelScope,
  {
    statesMax = Number.POSITIVE_INFINITY,
    onProgress = () => {},
    subject = shippedDuel,
  }: {
    readonly statesMax?: number | undefined
    readonly onProgress?: ((states: number) => void) | undefined
    readonly subject?: DuelSubject
  } = {},
): Promise<DuelSummary> {
  const startedMs = performance.now()
  const root = await Duel.begin(budget, subject)
  const seen = new Set([root.key])
  const logs = new Set([root.log])
  root.abandon()
  let level: string[][] = [[]]
  let transitions = 0
  let longestPath = 0
  const summary = (complete: boolean, violation?: DuelSummary['violation']): DuelSummary => ({
    name,
    states: seen.size,
    durableStates: logs.size,
    transitions,
    longestPath,
    seconds: Math.round((performance.now() - startedMs) / 100) / 10,
    complete,
    violation,
  })
  while (level.length > 0) {
    const next: string[][] = []
    for (const path of level) {
      const duel = await replay(budget, subject, path)
      const choices = duel.choices()
      duel.abandon()
      for (const choice of choices) {
        transitions++
        const longer = [...path, choice]
        const other = await replay(budget, subject, path)
        try {
          await other.perform(choice)
        } catch (error) {
          const { check: rule, message: found } =
            error instanceof Violation ? error : new Violation('nothing throws', String(error))
          return summary(false, { rule, found, path: longer })
        }
        const { key, log } = other
        logs.add(log)
        other.abandon()
        if (seen.has(key)) continue
        seen.add(key)
        next.push(longer)
        longestPath = longer.length
        if (seen.size >= statesMax) return summary(false)
      }
      onProgress(seen.size)
    }
    level = next
  }
  return summary(true)
}

async function replay(
  budget: Budget,
  subject: DuelSubject,
  path: readonly string[],
): Promise<Duel> {
  const duel = await Duel.begin(budget, subject)
  for (const choice of path) await duel.perform(choice)
  return duel
}
