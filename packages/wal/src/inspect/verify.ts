import type { Damage, HistoryDamage } from '../damage.js'
import type { Disk } from '../disk/disk.js'
import { nodeDisk } from '../disk/node-disk.js'
import { WalError } from '../errors.js'
import { Layout } from '../format/layout.js'
import type { Lsn } from '../lsn.js'
import type { BadCheckpoint, Gap, Segment } from '../recover/examination.js'
import { examineSteadily } from './steady.js'

/** What a log's directory is worth, read from end to end. */
export interface Verification {
  readonly logId: string
  readonly epoch: number
  readonly segments: number
  /** Old segments that a checkpoint covers but that others between are missing behind. */
  readonly strandedSegments: readonly string[]
  readonly records: number
  readonly bytes: number
  /** The first and the last record that can be read; the last is below the first when there is none. */
  readonly firstLsn: Lsn
  readonly lastLsn: Lsn
  readonly gaps: readonly Gap[]
  readonly goodCheckpoints: readonly Lsn[]
  readonly badCheckpoints: readonly BadCheckpoint[]
  /** Why the next open will cut off a write at the end that never returned. */
  readonly tornTail: string | undefined
  /** Why the log does not open. */
  readonly damage: Damage | undefined
  /** What cannot be read of the records that a good checkpoint covers, oldest first. The log opens. */
  readonly historyDamage: readonly HistoryDamage[]
}

/**
 * Checks every checksum, the chain, and that nothing is missing, and changes nothing. Beside a
 * running writer the batch on its way to the disk may show up as a torn tail; damage is reported
 * only when it is the same at a second look.
 */
export async function verifyLog(
  directory: string,
  { disk = nodeDisk }: { readonly disk?: Disk } = {},
): Promise<Verification> {
  const found = await examineSteadily(disk, new Layout(directory), 'everything')
  if (found.fresh) throw new WalError('WAL_NOT_A_LOG', `${directory} holds no log`)
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

/** A writer opened the log: what it wrote begins at `firstLsn`. */
export interface LogOpening {
  /** How many times the log had been opened, this time included. */
  readonly epoch: number
  readonly firstLsn: Lsn
  /** By the writer's own clock. */
  readonly at: number
}

export function openingsOf(segments: readonly Segment[]): LogOpening[] {
  const isOpening = ({ header }: Segment, before: Segment | undefined) =>
    before === undefined ? header.previous.sequence === 0 : header.epoch !== before.header.epoch
  return segments
    .filter((segment, index) => isOpening(segment, segments[index - 1]))
    .map(({ header: { epoch, firstLsn, clockMs: at } }) => ({ epoch, firstLsn, at }))
}
