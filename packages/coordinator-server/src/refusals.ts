import { type Reason, type Rejected, reasons } from '@tenure/protocol'

/** A refusal in the words of the protocol's table, or in more fitting ones. */
export function rejected(id: number, reason: Reason, message: string = reasons[reason]): Rejected {
  return { kind: 'rejected', id, reason, message }
}

/** A refusal that passes by itself. */
export function notNow(id: number, reason: Reason, retryAfterMs: number): Rejected {
  return { ...rejected(id, reason), retryAfterMs }
}
