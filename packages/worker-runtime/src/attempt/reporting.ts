import { type Link, RejectedError, type RequestOptions, TenureError } from '@tenure/client'
import type { Answer, Cancelled, Committed, Rejected } from '@tenure/protocol'
import { meaningOf } from '../refusals.js'
import type { Report } from './report.js'

/** The coordinator's final answer, or why there is none. */
export type Verdict = Committed | Cancelled | Rejected | Unanswered

interface Unanswered {
  readonly kind: 'unanswered'
  readonly error: TenureError
  /** Whether the report was sent, and so may have been accepted. */
  readonly wasSent: boolean
}

const firstPauseMs = 100
const pauseMsMax = 5000
/** Long enough to reconnect. */
const lateReportMs = 5000

/**
 * Sends a report until it is answered. It is sent again after a lost connection and after a transient
 * rejection, but never after the deadline. Every sending has the same report id, so that the coordinator
 * recognizes it.
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

  /** Without a connection, the report is given up at its deadline. */
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
 * Sends a report after the deadline. Usually the answer is CANCELLED, and the log then records that the work
 * was done (003 §4). COMMITTED means that the lease still held, since the deadline is earlier than the
 * expiry. The report is sent once, with a short timeout.
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

/** A transient rejection decides nothing, so it is not a verdict. */
function toVerdict(answer: Answer | TenureError): Exclude<Verdict, Unanswered> | TenureError {
  if (answer instanceof TenureError) return answer
  switch (answer.kind) {
    case 'committed':
    case 'cancelled':
      return answer
    case 'rejected':
      return meaningOf(answer.reason) === 'transient' ? new RejectedError(answer) : answer
    default:
      return new TenureError(
        'CLIENT_PROTOCOL',
        `a report was answered with ${answer.kind}. Use a worker of the coordinator's release, or report a bug`,
      )
  }
}

/** Waits. Returns an error if the link was closed in the meantime. */
async function pause(link: Link, pauseMs: number): Promise<TenureError | undefined> {
  try {
    await link.pause(pauseMs)
    return undefined
  } catch (error) {
    if (error instanceof TenureError) return error
    throw error
  }
}
