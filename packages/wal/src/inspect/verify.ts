import type { Damage, HistoryDamage } from '../damage.js'
import type { Disk } from '../disk/disk.js'
import { nodeDisk } from '../disk/node-disk.js'
import { noLog } from '../errors.js'
import { Layout } from '../format/layout.js'
import type { Lsn } from '../lsn.js'
import type { BadCheckpoint, Gap, Segment } from '../recover/examination.js'
import { examineUntilStable } from './examine-until-stable.js'

/** The result of reading a log from end to end. */
export interface Verification {
  readonly logId: string
  readonly epoch: number
  readonly segments: number
  /** Old segments that a checkpoint covers and that missing segments separate from the log. */
  readonly strandedSegments: readonly string[]
  readonly records: number
  readonly bytes: number
  /** The range of readable records. `lastLsn` is below `firstLsn` when there are none. */
  readonly firstLsn: Lsn
  readonly lastLsn: Lsn
  readonly gaps: readonly Gap[]
  readonly goodCheckpoints: readonly Lsn[]
  readonly badCheckpoints: readonly BadCheckpoint[]
  /** Why the next open will cut off a torn write at the end. */
  readonly tornTail: string | undefined
  /** Why the log does not open. */
  readonly damage: Damage | undefined
  /** Unreadable records that a good checkpoint covers, oldest first. They do not prevent an open. */
  readonly historyDamage: readonly HistoryDamage[]
}

/**
 * Verifies every checksum, the chain, and that no file is missing. Changes nothing. Beside a
 * running writer, the batch that is being written may appear as a torn tail. Damage is reported
 * only if a second look shows the same.
 */
export async function verifyLog(
  directory: string,
  { disk = nodeDisk }: { readonly disk?: Disk } = {},
): Promise<Verification> {
  const found = await examineUntilStable(disk, new Layout(directory), 'everything')
  if (found.fresh) throw noLog(directory)
  return {
    logId: Buffer.from(found.logId ?? []).toString('hex'),
    epoch: found.highestEpoch,
    segments: found.segments.length,
    strandedSegments: found.stranded,
    records: found.records,
    bytes: found.bytes,
    firstLsn: found.segments[0]?.header.firstLsn ?? found.end.lastLsn + 1,
    lastLsn: found.end.lastLsn,
    gaps: found.gaps,
    goodCheckpoints: found.goodCheckpoints,
    badCheckpoints: found.badCheckpoints,
    tornTail: found.torn?.why,
    damage: found.damage,
    historyDamage: found.historyDamage,
  }
}

/**
 * One open of the log by a writer, whose records start at `firstLsn`. In a copy of a shared log, one
 * epoch of the shared log.
 */
export interface LogOpening {
  /** How many times the log had been opened, including this time. In a copy: the shared epoch. */
  readonly epoch: number
  readonly firstLsn: Lsn
  /** Time on the writer's clock. */
  readonly at: number
}

export function openingsOf(segments: readonly Segment[]): LogOpening[] {
  // A copy has shared epoch 0 until its first record.
  const epochOf = ({ header }: Segment) => (header.era === 0 ? header.epoch : header.sharedEpoch)
  const isOpening = (segment: Segment, before: Segment | undefined) =>
    before === undefined
      ? segment.header.previous.lastLsn === 0
      : epochOf(segment) !== epochOf(before)
  return segments
    .filter((segment, index) => isOpening(segment, segments[index - 1]))
    .filter((segment) => epochOf(segment) > 0)
    .map((segment) => {
      const { firstLsn, clockMs: at } = segment.header
      return { epoch: epochOf(segment), firstLsn, at }
    })
}
