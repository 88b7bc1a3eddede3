import { WalError } from './errors.js'
import { type Lsn, lsnMax } from './lsn.js'

/**
 * Where a log goes on when LSNs may have been issued that nothing in it tells of: by the original of
 * a copy, in what was given up, or by another log that was made out of the same copy before.
 *
 * Nothing in a copy tells of the logs made out of it, so the time has to keep them apart: behind a
 * gap a log begins on a line that rises by `lsnsPerMs`. No log issues as many for long, so all
 * that any of them has issued up to now lies below the line, as long as no clock went back between
 * two such openings and they were not in the same millisecond. 2^53 is reached after 69 years.
 */
const lineStartMs = Date.UTC(2026, 0, 1)
const lsnsPerMs = 4096

/**
 * Where the line is no help, because the clock is behind what the log itself tells: more records
 * than a lost tail can hold. It must not be added to the line or compared with it: a log would run
 * ahead of the line by that much, and two restored meanwhile would begin at the same place.
 */
const blindGapLength = 2 ** 32

/** The first LSN behind the gap. Everything up to `highestLsn` may have been issued, and perhaps more. */
export function firstLsnBehindGap(highestLsn: Lsn, nowMs: number): Lsn {
  const line = (nowMs - lineStartMs) * lsnsPerMs
  const firstLsn = line > highestLsn ? line : highestLsn + blindGapLength
  if (firstLsn <= lsnMax) return firstLsn
  throw new WalError(
    'WAL_NO_LSN',
    `by the clock, ${new Date(nowMs).toISOString()}, the log would go on at LSN ${firstLsn}, and LSNs end at ${lsnMax}. ` +
      'Set the clock, or name the next LSN.',
  )
}
