import { flagOf } from '@tenure/app-kit'
import { TenureError } from '@tenure/client'
import { explain } from '../refusals.js'
import { countOf, showCount, showRate } from '../show/numbers.js'
import { printable } from '../show/printable.js'
import { showSpan } from '../show/times.js'
import type { BrokenOff } from './many.js'

export interface LinesCount {
  readonly submitted: number
  /** Of these, those that had been submitted before under the same request id. */
  readonly known: number
  readonly refused: number
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

export interface Continuation {
  readonly requestIdPrefix: string
  readonly brokenOff: BrokenOff | undefined
  readonly refused: number
}

/** What to do about lines that were not submitted, or of which that is not known. */
export function tellHowToGoOn(continuation: Continuation): string[] {
  const { requestIdPrefix, brokenOff, refused } = continuation
  const prefix = `${flagOf('requestIdPrefix')} ${requestIdPrefix}`
  if (brokenOff !== undefined) {
    const { fromLine, error } = brokenOff
    const from = `${flagOf('fromLine')} ${fromLine} ${prefix}`
    return [
      `line ${fromLine}: ${tellWhy(error)}`,
      `whether lines from ${fromLine} on were submitted is not known. Go on with the same call and ${from}: none will be submitted twice`,
    ]
  }
  if (refused === 0) return []
  return [
    `mend ${refused === 1 ? 'it' : 'them'} and do the same again with ${prefix}: none will be submitted twice`,
  ]
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
