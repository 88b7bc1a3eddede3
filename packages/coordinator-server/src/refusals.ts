import { type Reason, type Rejected, reasons } from '@tenure/protocol'

/** A refusal in the words of the protocol's table, or in more fitting ones. */
export function rejected(id: number, reason: Reason, message: string = reasons[reason]): Rejected {
  return { kind: 'rejected', id, reason, message }
}

/** How long to stay away with a lease request that may not wait beside so many others. */
export const tooManyRetryMs = 1000

/** A refusal that passes by itself. */
export function notNow(
  id: number,
  reason: Reason,
  retryAfterMs: number,
  message?: string,
): Rejected {
  return { ...rejected(id, reason, message), retryAfterMs }
}
