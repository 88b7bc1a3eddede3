import type { Heartbeat, Lease, Leased, LeaseTerms } from '@tenure/protocol'
import { getLease, nextEligible, type State } from '@tenure/state-machine'
import { getOffer, viewPayload } from '@tenure/state-machine/internal'
import { rejected } from '../refusals.js'
import { type Asker, answer, type Circumstances, type Decision } from './decision.js'
import { judgeLease } from './lease-judgement.js'

/** What the WorkerRegistry says of a worker. It is advice: it may be old, or missing. */
export interface Advice {
  /** How many tasks the worker runs at once, by its own word; 0 when it does not say. */
  readonly capacity: number
  /** How many leases it is known to hold. */
  readonly leases: number
}

/**
 * 001 §2.2: of the workers that wait, the one with the highest rank is chosen. The rank is the free
 * capacity; a full worker has `noRoom`. A worker that states no capacity decides for itself how much it
 * asks for: it is never full, and it ranks below the workers that have stated room.
 */
export function rankOf({ capacity, leases }: Advice): number {
  return capacity === 0 || leases < capacity ? capacity - leases : noRoom
}

export const noRoom = Number.NEGATIVE_INFINITY

/**
 * 001 §3.2: the first eligible task of these queues goes to the asker. `undefined` when there is none,
 * or the asker has no room for one.
 */
export function decideLease(
  circumstances: Circumstances,
  request: Lease,
  asker: Asker,
  advice: Advice,
): Decision | undefined {
  if (rankOf(advice) === noRoom) return undefined
  const { state, knobs, now, nextLsn } = circumstances
  const taskId = nextEligible(state, request.queues, now)
  if (taskId === undefined) return undefined
  const { attempt, executionWindowMs } = getOffer(state, taskId)!
  const leaseExpiry = now + Math.min(knobs.leaseDurationMs, executionWindowMs)
  const record = {
    type: 'LeaseGranted',
    at: now,
    taskId,
    leaseId: nextLsn,
    workerId: asker.name,
    attempt: attempt + 1,
    leaseExpiry,
  } as const
  return {
    kind: 'record',
    record,
    answer: (state) => leased(state, request.id, nextLsn, now, asker),
  }
}

/** 001 §3.3 and `semantics` §5: the lease lasts longer, if it is valid still and its window allows. */
export function decideHeartbeat(
  circumstances: Circumstances,
  request: Heartbeat,
  asker: Asker,
): Decision {
  const { knobs, now } = circumstances
  const { id, leaseId } = request
  const judgement = judgeLease(circumstances, request, asker)
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
        ({ kind: 'extended', id, ...terms(expiry, windowEnd, now, asker) }) as const
      // Sent twice in one millisecond, or the window is used up: nothing to write, and nothing wrong.
      if (newLeaseExpiry <= leaseExpiry) return answer(extended(leaseExpiry))
      const record = { type: 'LeaseExtended', at: now, leaseId, newLeaseExpiry } as const
      return { kind: 'record', record, answer: () => extended(newLeaseExpiry) }
    }
  }
}

function leased(state: State, id: number, leaseId: number, now: number, asker: Asker): Leased {
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
    heldMs: now - asker.arrivedAt,
    leaseMs: leaseExpiry - now,
    windowMs: windowEnd - now,
  }
}

/** `semantics` §1: a worker counts from when it asked, so it needs durations beside the times. */
function terms(
  leaseExpiry: number,
  windowEnd: number,
  decidedAt: number,
  asker: Asker,
): LeaseTerms {
  return {
    leaseExpiry,
    windowEnd,
    heldMs: decidedAt - asker.arrivedAt,
    leaseMs: leaseExpiry - decidedAt,
    windowMs: windowEnd - decidedAt,
  }
}
