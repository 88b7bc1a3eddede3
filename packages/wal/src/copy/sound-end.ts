import type { Clock } from '@tenure/seams'
import { WalDamageError } from '../errors.js'
import type { SegmentEnd } from '../format/file-header.js'
import { segmentPath } from '../format/layout.js'
import { followPollMs } from '../format/limits.js'
import type { Scanner } from '../scan/scanner.js'
import { judge } from '../scan/verdict.js'

/** How many consecutive reads must show damage before it is reported, because a writer may be active. */
const readsToConfirmDamage = 3

export interface SoundEnd {
  readonly end: SegmentEnd
  /** Why the last write is incomplete, if it is. It never returned, or it is still running. */
  readonly tornTail?: string
}

/**
 * Finds the end of the last whole batch in the newest segment, or the damage there. While a writer
 * is active, a batch that is being written can look damaged. In that case a valid batch appears
 * soon, and the content before it is sound.
 */
export async function findSoundEnd(
  scanner: Scanner,
  name: string,
  clock: Clock,
): Promise<SoundEnd> {
  for (let look = 1; ; look++) {
    if (await readOn(scanner)) look = 1
    const { finding } = scanner
    if (finding === undefined) throw new Error('the scan ended without a finding')
    const behind = await scanner.remainder()
    const { kind, why } = judge(finding, behind, scanner.nextBatch, scanner.logKind)
    if (kind === 'clean') return { end: scanner.end }
    if (kind === 'torn') return { end: scanner.end, tornTail: why }
    if (look === readsToConfirmDamage) {
      const { sequence: segment, offset } = scanner.end
      const place = { file: segmentPath(name), offset: scanner.offset }
      const lost = { firstMissingLsn: scanner.nextLsn, acceptable: { segment, offset } }
      throw new WalDamageError({ kind, why, ...place, ...lost })
    }
    await pause(clock)
    scanner.retry()
    // The place was empty at the first read, so every record that was acknowledged then lies before
    // it.
    const wasFree = finding.kind === 'no-header'
    if (wasFree && (await scanner.next()) !== undefined) return { end: scanner.end }
  }
}

/** Reads to the next finding. Returns whether it found a batch. */
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
