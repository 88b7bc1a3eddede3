import { type Link, RejectedError, type RequestOptions, TenureError } from '@tenure/client'
import type { Answer, Cancelled, Committed, Rejected } from '@tenure/protocol'
import { meaningOf } from '../refusals.js'
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
/** Long enough for a connection to be made anew. */
const lateReportMs = 5000

/**
 * Sends a report until it is answered. Only what is no answer leads to another sending: a lost
 * connection, and a refusal that decided nothing. None is sent after the deadline, which bounds
 * them; and all carry the same report id, so the coordinator knows the report again.
 */
export class Reporting implements RequestOptions {
  readonly retry = true
  readonly #link: Link
  readonly #report: Report
  readonly #deadlineMs: number
  readonly #conclude: (verdict: Verdict) => void
  #pauseMs = firstPauseMs
  #wasSent = false

  constructor(
    link: Link,
    report: Report,
    deadlineMs: number,
    conclude: (verdict: Verdict) => void,
  ) {
    this.#link = link
    this.#report = report
    this.#deadlineMs = deadlineMs
    this.#conclude = conclude
  }

  /** What cannot even be sent is given up when it may not be any more. */
  get timeoutMs(): number {
    const { isConnected, requestTimeoutMs } = this.#link
    return isConnected ? requestTimeoutMs : Math.max(0, this.#leftMs)
  }

  send(): void {
    this.#link.ask(this.#report, this, (outcome) => this.#take(toVerdict(outcome)))
  }

  maySend(): boolean {
    return this.#leftMs > 0
  }

  onSent(): void {
    this.#wasSent = true
  }

  get #leftMs(): number {
    return this.#deadlineMs - this.#link.clock.monotonicMs()
  }

  #take(verdict: Exclude<Verdict, Unanswered> | TenureError): void {
    if (!(verdict instanceof TenureError)) this.#conclude(verdict)
    else if (this.maySend()) void this.#comeBack(verdict)
    else this.#giveUp(verdict)
  }

  async #comeBack(error: TenureError): Promise<void> {
    const askedMs = error instanceof RejectedError ? error.retryAfterMs : undefined
    const closed = await pause(this.#link, Math.min(askedMs ?? this.#pauseMs, this.#leftMs))
    if (askedMs === undefined) this.#pauseMs = Math.min(pauseMsMax, this.#pauseMs * 2)
    if (closed === undefined) this.send()
    else this.#giveUp(closed)
  }

  #giveUp(error: TenureError): void {
    this.#conclude({ kind: 'unanswered', error, wasSent: this.#wasSent })
  }
}

/**
 * Sends a report after the deadline. CANCELLED is the answer to expect, and with it the log has the
 * evidence that the work was done (003 §4); COMMITTED says that the lease still held, for the deadline
 * comes before the expiry. It is sent once, and neither a connection nor its answer is awaited for long.
 */
export function reportLate(
  link: Link,
  report: Report,
  onSent: () => void,
  conclude: (verdict: Verdict) => void,
): void {
  let wasSent = false
  const options: RequestOptions = {
    timeoutMs: lateReportMs,
    onSent: () => {
      wasSent = true
      onSent()
    },
  }
  link.ask(report, options, (outcome) => {
    const verdict = toVerdict(outcome)
    if (!(verdict instanceof TenureError)) conclude(verdict)
    else conclude({ kind: 'unanswered', error: verdict, wasSent })
  })
}

/** What passes decided nothing, so it is no verdict. */
function toVerdict(answer: Answer | TenureError): Exclude<Verdict, Unanswered> | TenureError {
  if (answer instanceof TenureError) return answer
  switch (answer.kind) {
    case 'committed':
    case 'cancelled':
      return answer
    case 'rejected':
      return meaningOf(answer.reason) === 'passes' ? new RejectedError(answer) : answer
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
