import { type Reason, type Rejected, reasons } from '@tenure/protocol'

/** A rejection, by default with the protocol's message for the reason. */
export function rejected(id: number, reason: Reason, message: string = reasons[reason]): Rejected {
  return { kind: 'rejected', id, reason, message }
}

/** Retry delay for a lease request over the limit of waiting requests. */
export const tooManyRetryMs = 1000

/** A temporary rejection with a retry delay. */
export function rejectedForNow(
  id: number,
  reason: Reason,
  retryAfterMs: number,
  message?: string,
): Rejected {
  return { ...rejected(id, reason, message), retryAfterMs }
}
