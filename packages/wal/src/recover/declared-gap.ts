import { WalError } from '../errors.js'
import { type Lsn, lsnMax } from '../lsn.js'
import type { Examination } from './examination.js'

/**
 * Where a log goes on when LSNs may have been issued that nothing in it tells of: by the original of
 * a copy, in what was given up, or by another log that was made out of the same copy before.
 *
 * Nothing in a copy tells of the logs made out of it, so the time has to keep them apart: behind a
 * gap a log begins on a line that rises by `lsnsPerMs`. No log issues as many for long, so all
 * that any of them has issued up to now lies below the line, as long as no clock went back between
 * two such openings and they were not in the same millisecond. 2^53 is reached after 69 years.
 *
 * A rule that does not rise with time would take two logs of one copy to the same LSN. So where the clock
 * cannot be right, or the log is beyond the line already, the caller has to name the LSN.
 */
const lineStartMs = Date.UTC(2026, 0, 1)
const lsnsPerMs = 4096

/** The first LSN behind the gap. Everything up to `highestLsn` may have been issued, and perhaps more. */
export function firstLsnBehindGap(
  { highestLsn, latestClockMs }: Pick<Examination, 'highestLsn' | 'latestClockMs'>,
  nowMs: number,
): Lsn {
  const firstLsn = (nowMs - lineStartMs) * lsnsPerMs
  const why = contradiction(firstLsn, nowMs, highestLsn, latestClockMs)
  if (why === undefined) return firstLsn
  throw new WalError(
    'WAL_NO_LSN',
    `the clock shows ${timeOf(nowMs)}, ${why}: it cannot tell at which LSN the log continues. ` +
      'Set the clock, or name in options.restored.nextLsn an LSN beyond all that may have been issued.',
  )
}

/** In words, what the clock contradicts, if it does. */
function contradiction(
  firstLsn: Lsn,
  nowMs: number,
  highestLsn: Lsn,
  latestClockMs: number,
): string | undefined {
  if (nowMs < latestClockMs) return `but the log was written at ${timeOf(latestClockMs)}`
  if (firstLsn > lsnMax) return `which is past the time of the last LSN, ${lsnMax}`
  if (firstLsn > highestLsn) return undefined
  const reachedMs = lineStartMs + Math.ceil((highestLsn + 1) / lsnsPerMs)
  return `but LSN ${highestLsn} may have been issued and is not passed before ${timeOf(reachedMs)}`
}

function timeOf(ms: number): string {
  const time = new Date(ms)
  return Number.isNaN(time.getTime()) ? `${ms} ms` : time.toISOString()
}
