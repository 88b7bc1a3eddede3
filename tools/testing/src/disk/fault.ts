/** Faults of single calls, and the plan of when they occur. */
import { type DiskCall, isSync, isWrite } from './call.js'
import { assertErrorCode } from './errors.js'
import type { PendingChange } from './power-loss.js'

export type Fault = FaultEffect & {
  /**
   * How often the fault occurs; default once. A fault for the N-th call affects that call and the following
   * ones; a fault with a predicate affects matching calls.
   */
  readonly times?: number | 'forever'
}

export type FaultEffect =
  /** The call fails and changes nothing. */
  | { readonly kind: 'error'; readonly code: string }
  /**
   * Only this many bytes are written; by default half of them. With `toSector` the write is cut at the end of
   * a sector, as file systems do; a write that ends in its first sector is written whole.
   */
  | { readonly kind: 'short-write'; readonly bytes?: number; readonly toSector?: boolean }
  | { readonly kind: 'short-read'; readonly bytes?: number }
  | FailedSync
  /**
   * The power fails. `before`: the call has not done its work, but sectors of a durable write, for example,
   * are pending. `after`: it has done its work, but does not return.
   */
  | { readonly kind: 'crash'; readonly when: 'before' | 'after' }
  /** The calling process is killed before or after the call did its work; the cache survives. */
  | { readonly kind: 'kill'; readonly when: 'before' | 'after' }

/**
 * A sync, a directory sync or a durable write does not reach the medium.
 *
 * - `clean-page`: it fails; reads see the new content, which counts as written from then on.
 * - `reverted`: it fails; reads see the old content again.
 * - `late`: it succeeds; the next sync or durable write of the file fails, and is lost too.
 * - `dead`: it fails, and so does every later change.
 */
export interface FailedSync {
  readonly kind: 'failed-sync'
  readonly model: 'clean-page' | 'reverted' | 'late' | 'dead'
  /** Sectors that reached the medium nevertheless; default none. Not for `dead`. */
  readonly landed?: (change: PendingChange) => boolean
}

/** A planned fault. */
export interface PlannedFault {
  /** How often the fault has occurred. */
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

  /** The fault for this call: the first planned one that fits. */
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
