import type { TrackedAttempt } from '../task/attempts.js'
import type { Fork } from './fork.js'
import { settledAt, type Terms } from './judgement.js'

export interface AttemptStep {
  readonly kind: 'attempt'
  readonly attempt: TrackedAttempt
  readonly terms: Terms
}

export type Step =
  | AttemptStep
  | { readonly kind: 'stop'; readonly at: number; readonly isPoison: boolean }

/**
 * A task that has run, and what of its record is not yet told. An attempt is told when nothing that
 * may come can change its judgement: at its report, or, when its lease has expired, as soon as a
 * late report would be too late under the knobs, too. Later attempts of its task wait until then.
 */
export class Thread {
  readonly taskId: number
  readonly fork: Fork
  readonly #untold: Step[] = []

  constructor(taskId: number, fork: Fork) {
    this.taskId = taskId
    this.fork = fork
  }

  add(step: Step): void {
    this.#untold.push(step)
  }

  /** Until when an attempt that has expired is not settled. */
  settledAt(attempt: TrackedAttempt): number {
    const step = this.#untold.find((step) => step.kind === 'attempt' && step.attempt === attempt)
    return step?.kind === 'attempt' ? settledAt(attempt, step.terms) : 0
  }

  /** Gives what is to be told next, if it is settled; at the end everything is. */
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
  return settledAt(step.attempt, step.terms) <= now
}
