import type { Heartbeat, Lease, Leased, LeaseTerms } from '@tenure/protocol'
import { getLease, nextEligible, type State } from '@tenure/state-machine'
import { getOffer, viewPayload } from '@tenure/state-machine/internal'
import { rejected } from '../refusals.js'
import { answer, type Caller, type Decision, type DecisionContext } from './decision.js'
import { judgeLease } from './lease-judgement.js'

/** The WorkerRegistry's view of a worker. It may be outdated or missing. */
export interface Advice {
  /** The number of concurrent tasks that the worker stated; 0 when it stated none. */
  readonly capacity: number
  /** The number of leases that the worker is known to hold. */
  readonly leases: number
}

/**
 * 001 §2.2: of the waiting workers, the one with the highest rank gets the task. The rank is the free
 * capacity; a full worker has `noCapacity`. A worker without a stated capacity limits its own requests: it is
 * never full, and it ranks below workers with free stated capacity.
 */
export function rankOf({ capacity, leases }: Advice): number {
  return capacity === 0 || leases < capacity ? capacity - leases : noCapacity
}

export const noCapacity = Number.NEGATIVE_INFINITY

/**
 * 001 §3.2: leases the first eligible task of the requested queues. `undefined` when there is no such task,
 * or when the caller has no free capacity.
 */
export function decideLease(
  context: DecisionContext,
  request: Lease,
  caller: Caller,
  advice: Advice,
): Decision | undefined {
  if (rankOf(advice) === noCapacity) return undefined
  const { state, knobs, now, nextLsn } = context
  const taskId = nextEligible(state, request.queues, now)
  if (taskId === undefined) return undefined
  const { attempt, executionWindowMs } = getOffer(state, taskId)!
  const leaseExpiry = now + Math.min(knobs.leaseDurationMs, executionWindowMs)
  const record = {
    type: 'LeaseGranted',
    at: now,
    taskId,
    leaseId: nextLsn,
    workerId: caller.name,
    attempt: attempt + 1,
    leaseExpiry,
  } as const
  return {
    kind: 'record',
    record,
    answer: (state) => leased(state, request.id, nextLsn, now, caller),
  }
}

/** 001 §3.3 and `semantics` §5: extends a valid lease, up to the end of its execution window. */
export function decideHeartbeat(
  context: DecisionContext,
  request: Heartbeat,
  caller: Caller,
): Decision {
  const { knobs, now } = context
  const { id, leaseId } = request
  const judgement = judgeLease(context, request, caller)
  switch (judgement.kind) {
    case 'refused':
      return answer(judgement.refusal)
    case 'past expiry':
      return { kind: 'expire first' }
    case 'reported':
      return answer(rejected(id, 'REPORTED'))
    case 'lost':
      return answer(rejected(id, judgement.reason))
    case 'valid': {
      const { leaseExpiry, windowEnd } = judgement.standing
      const newLeaseExpiry = Math.min(now + knobs.leaseDurationMs, windowEnd)
      const extended = (expiry: number) =>
        ({ kind: 'extended', id, ...terms(expiry, windowEnd, now, caller) }) as const
      // A repeat within a millisecond, or a window that is used up, extends nothing: answer without a record.
      if (newLeaseExpiry <= leaseExpiry) return answer(extended(leaseExpiry))
      const record = { type: 'LeaseExtended', at: now, leaseId, newLeaseExpiry } as const
      return { kind: 'record', record, answer: () => extended(newLeaseExpiry) }
    }
  }
}

function leased(state: State, id: number, leaseId: number, now: number, caller: Caller): Leased {
  const { taskId, queue, attempt, leaseExpiry, windowEnd } = getLease(state, leaseId)!
  return {
    kind: 'leased',
    id,
    taskId,
    leaseId,
    attempt,
    queue,
    payload: viewPayload(state, taskId)!,
    leaseExpiry,
    windowEnd,
    heldMs: now - caller.arrivedAt,
    leaseMs: leaseExpiry - now,
    windowMs: windowEnd - now,
  }
}

/** `semantics` §1: a worker measures from when it sent the request, so the answer includes durations. */
function terms(
  leaseExpiry: number,
  windowEnd: number,
  decidedAt: number,
  caller: Caller,
): LeaseTerms {
  return {
    leaseExpiry,
    windowEnd,
    heldMs: decidedAt - caller.arrivedAt,
    leaseMs: leaseExpiry - decidedAt,
    windowMs: windowEnd - decidedAt,
  }
}
