/** What can go wrong at a call, and the plan that says at which. */
import { type DiskCall, isSync, isWrite } from './call.js'
import { assertErrorCode } from './errors.js'
import type { PendingChange } from './power-loss.js'

export type Fault = FaultEffect & {
  /**
   * How often it strikes; once when left out. A fault aimed at the N-th call strikes that one and
   * those that follow it; a fault aimed by predicate strikes the calls that match.
   */
  readonly times?: number | 'forever'
}

export type FaultEffect =
  /** The call fails and changes nothing. */
  | { readonly kind: 'error'; readonly code: string }
  /**
   * Only so many bytes are taken, half of them when not said. `toSector`: up to the end of a sector, as
   * file systems cut; a write that ends in its first sector is taken whole.
   */
  | { readonly kind: 'short-write'; readonly bytes?: number; readonly toSector?: boolean }
  | { readonly kind: 'short-read'; readonly bytes?: number }
  | FailedSync
  /**
   * The power fails. `before`: the call has not done its work, but what a power loss may find half
   * done is pending, such as the sectors of a durable write. `after`: it has, and nobody heard.
   */
  | { readonly kind: 'crash'; readonly when: 'before' | 'after' }
  /** The calling process is killed before or after the call did its work; the cache survives. */
  | { readonly kind: 'kill'; readonly when: 'before' | 'after' }

/**
 * A sync, a directory's sync or a durable write does not reach the medium.
 *
 * - `clean-page`: it fails; reads see the new content, which counts as written from then on.
 * - `reverted`: it fails; reads see the old content again.
 * - `late`: it succeeds; the next sync or durable write of the same file fails, and is lost too.
 * - `dead`: it fails, and so does everything that changes anything from then on.
 */
export interface FailedSync {
  readonly kind: 'failed-sync'
  readonly model: 'clean-page' | 'reverted' | 'late' | 'dead'
  /** Sectors that reached the medium all the same; none when left out. Not for `dead`. */
  readonly landed?: (change: PendingChange) => boolean
}

/** A fault that waits for its calls. */
export interface PlannedFault {
  /** How often it has struck. */
  readonly hits: number
  cancel(): void
}

interface Plan {
  readonly matches: (call: DiskCall) => boolean
  readonly fault: Fault
  readonly times: number
  hits: number
}

export class FaultPlan {
  #plans: Plan[] = []

  add(matches: (call: DiskCall) => boolean, fault: Fault): PlannedFault {
    if (fault.kind === 'error') assertErrorCode(fault.code)
    const plan: Plan = { matches, fault, times: timesOf(fault), hits: 0 }
    this.#plans.push(plan)
    return {
      get hits() {
        return plan.hits
      },
      cancel: () => {
        this.#plans = this.#plans.filter((other) => other !== plan)
      },
    }
  }

  clear(): void {
    this.#plans = []
  }

  /** The fault that strikes this call: the first planned one that fits it. */
  strike(call: DiskCall): Fault | undefined {
    for (const plan of this.#plans) {
      if (plan.hits >= plan.times || !fits(plan.fault, call) || !plan.matches(call)) continue
      plan.hits++
      return plan.fault
    }
    return undefined
  }
}

export function timesOf(fault: Fault): number {
  return fault.times === 'forever' ? Number.POSITIVE_INFINITY : (fault.times ?? 1)
}

function fits(fault: Fault, call: DiskCall): boolean {
  switch (fault.kind) {
    case 'short-write':
      return isWrite(call)
    case 'short-read':
      return call.kind === 'read'
    case 'failed-sync':
      return isSync(call)
    default:
      return true
  }
}
