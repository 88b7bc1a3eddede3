import { flagOf, printable } from '@tenure/app-kit'
import { TenureError } from '@tenure/client'
import { explain } from '../../coordinator/refusals.js'
import type { Line } from '../../submit/line-reader.js'
import { countOf, showCount, showRate } from '../../terminal/numbers.js'
import { showSpan } from '../../terminal/times.js'

/** What is told while lines are submitted. */
export interface Listener {
  submitted(line: Line, task: { readonly taskId: number; readonly known: boolean }): void
  /** This line is refused; the others are not. */
  refused(line: Line, error: TenureError): void
}

/** What ended it before its time. */
export interface BrokenOff {
  /** The first line of which it is not known that it was submitted. */
  readonly fromLine: number
  readonly error: unknown
}

export interface LinesCount {
  readonly submitted: number
  /** Of these, those that had been submitted before under the same request id. */
  readonly known: number
  readonly refused: number
  /** Where there is one. */
  readonly firstRefusedLine?: number | undefined
  readonly elapsedMs: number
}

/** `1,000 tasks submitted, 3 of them before, 1 line refused, in 0.4 s (2,500/s)`. */
export function showCounted({ submitted, known, refused, elapsedMs }: LinesCount): string {
  const parts = [
    `${countOf(submitted, 'task')} submitted`,
    ...(known > 0 ? [`${showCount(known)} of them before`] : []),
    ...(refused > 0 ? [`${countOf(refused, 'line')} refused`] : []),
    `in ${showSpan(elapsedMs)} (${showRate(submitted, elapsedMs)})`,
  ]
  return parts.join(', ')
}

export interface Continuation extends Pick<LinesCount, 'refused' | 'firstRefusedLine'> {
  readonly requestIdPrefix: string
  readonly brokenOff: BrokenOff | undefined
}

/** What to do about lines that were not submitted, or of which that is not known. */
export function tellHowToGoOn(continuation: Continuation): string[] {
  const { requestIdPrefix, brokenOff, refused } = continuation
  const prefix = `${flagOf('requestIdPrefix')} ${requestIdPrefix}`
  const them = refused === 1 ? 'it' : 'them'
  if (brokenOff !== undefined) {
    const { fromLine, error } = brokenOff
    // What was refused lies before it, and would be passed over for good.
    const { firstRefusedLine = fromLine } = continuation
    const goOn = `with the same call and ${flagOf('fromLine')} ${firstRefusedLine} ${prefix}: ${notTwice}`
    const unknown = `whether lines from ${fromLine} on were submitted is not known`
    return [
      `line ${fromLine}: ${tellWhy(error)}`,
      refused === 0
        ? `${unknown}. Go on ${goOn}`
        : `${unknown}, and ${tellRefused(refused, firstRefusedLine)}. Mend ${them} and go on ${goOn}`,
    ]
  }
  if (refused === 0) return []
  return [`mend ${them} and do the same again with ${prefix}: ${notTwice}`]
}

const notTwice = 'none will be submitted twice'

function tellRefused(refused: number, firstLine: number): string {
  if (refused === 1) return `line ${firstLine} was refused`
  return `${showCount(refused)} lines before that were refused, the first of them line ${firstLine}`
}

function tellWhy(error: unknown): string {
  if (!(error instanceof TenureError))
    return printable(error instanceof Error ? error.message : String(error))
  // The way to go on is told for all lines together.
  const { code, message } = error
  return code === 'CLIENT_ABORTED'
    ? 'stopped'
    : error.requestId
      ? printable(message)
      : explain(error)
}
