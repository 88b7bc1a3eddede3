import { WalError } from '../errors.js'
import { type Lsn, lsnMax } from '../lsn.js'
import type { Examination } from './examination.js'

/**
 * Chooses the LSN at which a log continues after a restore or an accepted loss. LSNs may have been
 * issued that this copy does not know: by the original, in the part that was given up, or by
 * another log restored from the same copy.
 *
 * A copy does not know the other logs made from it, so time keeps them apart. The first LSN is at
 * least `lsnsPerMs` times the time since 2026. No log issues LSNs that fast for long, so all LSNs
 * issued so far are lower. This holds if no clock went back between two such opens and they were
 * not in the same millisecond. 2^53 is reached after 69 years.
 *
 * A rule without time would give two logs of one copy the same LSN. If the clock cannot be right,
 * or the log has already passed the computed LSN, the caller must name the LSN.
 */
const clockLsnStartMs = Date.UTC(2026, 0, 1)
const lsnsPerMs = 4096

/** The first LSN after the gap. Every LSN up to `highestLsn` may have been issued, and perhaps more. */
export function firstLsnBehindGap(
  { highestLsn, latestClockMs }: Pick<Examination, 'highestLsn' | 'latestClockMs'>,
  nowMs: number,
): Lsn {
  const firstLsn = (nowMs - clockLsnStartMs) * lsnsPerMs
  const why = contradiction(firstLsn, nowMs, highestLsn, latestClockMs)
  if (why === undefined) return firstLsn
  throw new WalError(
    'WAL_NO_LSN',
    `the next LSN cannot be computed from the clock: it shows ${timeOf(nowMs)}, ${why}`,
    {
      remedy:
        'Set the clock, or choose an LSN in options.restored that is higher than any that may have been issued',
    },
  )
}

/** Why the clock cannot be right, or `undefined`. */
function contradiction(
  firstLsn: Lsn,
  nowMs: number,
  highestLsn: Lsn,
  latestClockMs: number,
): string | undefined {
  if (nowMs < latestClockMs) return `but the log was written at ${timeOf(latestClockMs)}`
  if (firstLsn > lsnMax) {
    return `which is so far ahead that no LSN is left for it (the maximum is ${lsnMax})`
  }
  if (firstLsn > highestLsn) return undefined
  const reachedMs = clockLsnStartMs + Math.ceil((highestLsn + 1) / lsnsPerMs)
  return `but LSN ${highestLsn} may have been issued, and the clock gives a higher one only from ${timeOf(reachedMs)} on`
}

function timeOf(ms: number): string {
  const time = new Date(ms)
  return Number.isNaN(time.getTime()) ? `${ms} ms` : time.toISOString()
}
