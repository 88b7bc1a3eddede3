import type { Clock } from '@tenure/seams'
import { WalDamageError } from '../errors.js'
import type { SegmentEnd } from '../format/file-header.js'
import { segmentPath } from '../format/layout.js'
import { followPollMs } from '../format/limits.js'
import type { Scanner } from '../scan/scanner.js'
import { judge } from '../scan/verdict.js'

/** So often in a row the end must look damaged, while a writer may be at it, to be so. */
const looksBeforeBelief = 3

export interface SoundEnd {
  readonly end: SegmentEnd
  /** Why a write that never returned is left out, or has not returned yet. */
  readonly tornTail?: string
}

/**
 * Where the last whole batch of the newest segment ends, or the damage that stands there instead.
 * While a writer is at it, what looks damaged may be a batch on its way, or one that came between
 * two reads; then a valid one stands in that place soon, and what lies before it is sound.
 */
export async function findSoundEnd(
  scanner: Scanner,
  name: string,
  clock: Clock,
): Promise<SoundEnd> {
  for (let look = 1; ; look++) {
    if (await readOn(scanner)) look = 1
    const { finding } = scanner
    if (finding === undefined) throw new Error('a scan ended without a finding')
    const { kind, why } = judge(finding, await scanner.remainder(), scanner.nextBatch)
    if (kind === 'clean') return { end: scanner.end }
    if (kind === 'torn') return { end: scanner.end, tornTail: why }
    if (look === looksBeforeBelief) {
      const { sequence: segment, offset } = scanner.end
      const place = { file: segmentPath(name), offset: scanner.offset }
      const lost = { firstMissingLsn: scanner.nextLsn, acceptable: { segment, offset } }
      throw new WalDamageError({ kind, why, ...place, ...lost })
    }
    await pause(clock)
    scanner.retry()
    // Nothing was there yet when it was read first: all that was acknowledged by then lies before.
    const wasFree = finding.kind === 'zero-header'
    if (wasFree && (await scanner.next()) !== undefined) return { end: scanner.end }
  }
}

/** Reads to the next finding, and says whether there was a batch before it. */
async function readOn(scanner: Scanner): Promise<boolean> {
  const { nextBatch } = scanner
  while ((await scanner.next()) !== undefined) {}
  return scanner.nextBatch > nextBatch
}

function pause(clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    clock.setTimer(followPollMs, resolve)
  })
}
