import type { TrackedAttempt } from '../task/attempts.js'
import { finalAt, type Terms } from './judgement.js'
import type { TaskComparison } from './task-comparison.js'

export interface AttemptStep {
  readonly kind: 'attempt'
  readonly attempt: TrackedAttempt
  readonly terms: Terms
}

export type Step =
  | AttemptStep
  | { readonly kind: 'stop'; readonly at: number; readonly isPoison: boolean }

/**
 * A task that has run, and the attempts of its record that are not final yet. An attempt is final
 * when no later record can change its judgement: at its report, or, after an expiry, when a late
 * report would be too late under the knobs, too. Later attempts of the task wait until then.
 */
export class FollowedTask {
  readonly taskId: number
  readonly comparison: TaskComparison
  readonly #untold: Step[] = []

  constructor(taskId: number, comparison: TaskComparison) {
    this.taskId = taskId
    this.comparison = comparison
  }

  add(step: Step): void {
    this.#untold.push(step)
  }

  /** The time at which an expired attempt becomes final. */
  finalAt(attempt: TrackedAttempt): number {
    const step = this.#untold.find((step) => step.kind === 'attempt' && step.attempt === attempt)
    return step?.kind === 'attempt' ? finalAt(attempt, step.terms) : 0
  }

  /** Returns the next attempt or end if it is final. At the end of the log everything is. */
  take(now: number, isEnd: boolean): Step | undefined {
    const [step] = this.#untold
    if (step === undefined || !(isEnd || isSettled(step, now))) return undefined
    return this.#untold.shift()
  }
}

function isSettled(step: Step, now: number): boolean {
  if (step.kind === 'stop') return true
  const { end, lateReport } = step.attempt
  if (end === undefined) return false
  if (end.outcome !== 'EXPIRED' || lateReport !== undefined) return true
  return finalAt(step.attempt, step.terms) <= now
}
