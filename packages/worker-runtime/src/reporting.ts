import { type Link, RejectedError, TenureError } from '@tenure/client'
import {
  type Answer,
  type Cancelled,
  type Committed,
  passingReasons,
  type Rejected,
} from '@tenure/protocol'
import { ask } from './asking.js'
import type { Report } from './report.js'

/** The coordinator's answer, which is final; or why there is none. */
export type Verdict = Committed | Cancelled | Rejected | Unanswered

interface Unanswered {
  readonly kind: 'unanswered'
  readonly error: TenureError
  /** It was sent at least once, so it may have been accepted. */
  readonly wasSent: boolean
}

const firstPauseMs = 100
const pauseMsMax = 5000

/**
 * Sends a report until it is answered. Only what is no answer leads to another sending: a lost
 * connection, and a refusal that decided nothing. None is sent after the deadline, which bounds
 * them; and all carry the same report id, so the coordinator knows the report again.
 */
export async function sendReport(link: Link, report: Report, deadlineMs: number): Promise<Verdict> {
  const leftMs = () => deadlineMs - link.clock.monotonicMs()
  let wasSent = false
  const onSent = () => {
    wasSent = true
  }
  const options = { retry: true, maySend: () => leftMs() > 0, onSent }
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMsMax, pauseMs * 2)) {
    const verdict = toVerdict(await ask(link, report, options))
    if (!(verdict instanceof TenureError)) return verdict
    if (leftMs() <= 0) return { kind: 'unanswered', error: verdict, wasSent }
    const askedPauseMs = verdict instanceof RejectedError ? verdict.retryAfterMs : undefined
    const closed = await pause(link, Math.min(askedPauseMs ?? pauseMs, leftMs()))
    if (closed !== undefined) return { kind: 'unanswered', error: closed, wasSent }
  }
}

/** What passes decided nothing, so it is no verdict. */
function toVerdict(answer: Answer | TenureError): Exclude<Verdict, Unanswered> | TenureError {
  if (answer instanceof TenureError) return answer
  switch (answer.kind) {
    case 'committed':
    case 'cancelled':
      return answer
    case 'rejected':
      return passingReasons.includes(answer.reason) ? new RejectedError(answer) : answer
    default:
      return new TenureError('CLIENT_PROTOCOL', `a report was answered with ${answer.kind}`)
  }
}

/** The link was closed meanwhile, or not. */
async function pause(link: Link, pauseMs: number): Promise<TenureError | undefined> {
  try {
    await link.pause(pauseMs)
    return undefined
  } catch (error) {
    if (error instanceof TenureError) return error
    throw error
  }
}
