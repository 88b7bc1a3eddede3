import type { Disk } from '../disk/disk.js'
import { listIfPresent, readFully, removeIfPresent, withFile, writeFully } from '../disk/files.js'
import { saysNoSpace, WalDamageError, WalError } from '../errors.js'
import { endOfContent, isZero } from '../format/bytes.js'
import {
  beginning,
  type FileHeader,
  type GapReason,
  type SegmentEnd,
} from '../format/file-header.js'
import { HeadFile } from '../format/head.js'
import {
  isReserveName,
  isSpareName,
  type Layout,
  segmentName,
  temporarySuffix,
} from '../format/layout.js'
import { readWindowBytes } from '../format/limits.js'
import type { LogSettings } from '../options.js'
import { Scanner } from '../scan/scanner.js'
import { beginSegment, type SegmentFile } from '../write/segment-file.js'
import { adoptZeroFile, makeZeroFile, type ZeroFile } from '../write/zero-file.js'
import { firstLsnBehindGap } from './declared-gap.js'
import type { Examination, Segment } from './examination.js'
import { examine } from './examine.js'
import { salvage } from './salvage.js'

/** The log's directory, ready for the writer. */
export interface PreparedLog {
  readonly examination: Examination
  readonly segment: SegmentFile
  readonly headFile: HeadFile
  /** Bytes that were cut off, after they were copied to the quarantine. */
  readonly quarantinedBytes: number
  /** The size of a spare that was left by an earlier epoch and now belongs to this one. */
  readonly spareBytes: number | undefined
  readonly hasReserve: boolean
}

/** Recovers the log and creates this epoch's first segment. The caller holds the lock. */
export async function prepareLog(layout: Layout, settings: LogSettings): Promise<PreparedLog> {
  const { disk } = settings
  const examination = await examine(disk, layout, 'recovery')
  const { damage, end, segments } = examination
  refuseDamage(examination, settings)

  for (const path of examination.leftovers) await removeIfPresent(disk, path)
  for (const name of examination.unfinished) await removeIfPresent(disk, layout.segment(name))
  await disk.createDirectory(layout.segments)
  const header = nextHeader(examination, settings)
  const { spare, reserve } = await adoptSpareAndReserve(layout, settings, header)
  // Before anything else is written: the disk may have space for nothing else. Prefer the spare to
  // the reserve, because a roll may use whichever is left.
  const first = await makeFirst(layout, settings, header, spare ?? reserve)

  let quarantinedBytes = 0
  const last = segments.at(-1)
  if (last !== undefined) {
    const isCut = examination.torn !== undefined || damage !== undefined
    if (isCut) quarantinedBytes = await quarantineTail(disk, layout, last.name, end.offset)
    await rewrite(disk, layout, last.name, end.offset)
    if (!isCovered(examination)) await refuseChange(disk, layout, last, end)
  }
  const mode = settings.sync === 'always' ? 'durable' : 'write'
  const headFile = await HeadFile.open(disk, layout)
  let segment: SegmentFile | undefined
  try {
    await headFile.refuseIfChanged(examination.head)
    segment = await beginSegment(
      disk,
      layout,
      headFile,
      first.path,
      { ...header, segmentBytes: first.bytes },
      mode,
    )
    // From here on the new segment records what is cut off. Moving it to the quarantine only tidies
    // up.
    const cutOff = [
      ...examination.superseded,
      ...(damage === undefined ? [] : examination.afterEnd),
    ]
    for (const name of cutOff) await moveToQuarantine(disk, layout, name)
  } catch (error) {
    await segment?.file.close()
    await headFile.close()
    throw error
  }
  return {
    examination,
    segment,
    headFile,
    quarantinedBytes,
    spareBytes: spare === first ? undefined : spare?.bytes,
    hasReserve: reserve !== undefined && reserve !== first,
  }
}

/** Rejects damage, unless the operator has accepted this exact loss. */
function refuseDamage({ damage, segments }: Examination, { acceptLoss }: LogSettings): void {
  if (damage === undefined) {
    if (acceptLoss === undefined) return
    const isAcceptedAlready = segments.some(
      ({ header: { gap, previous } }) =>
        gap === 'accepted-loss' &&
        previous.sequence === acceptLoss.segment &&
        previous.offset === acceptLoss.offset,
    )
    if (isAcceptedAlready) return
    throw new WalError('WAL_BAD_OPTION', 'options.acceptLoss is set, but the log is not damaged', {
      remedy: 'Open it without the option',
    })
  }
  if (acceptLoss === undefined) throw new WalDamageError(damage)
  const { acceptable } = damage
  if (acceptable?.segment === acceptLoss.segment && acceptable.offset === acceptLoss.offset) {
    return
  }
  throw new WalError(
    'WAL_BAD_OPTION',
    `options.acceptLoss is segment ${acceptLoss.segment}, byte ${acceptLoss.offset}, but the damage starts at ` +
      `segment ${acceptable?.segment}, byte ${acceptable?.offset}`,
    {
      remedy: 'Name that place to give up everything after it',
      cause: new WalDamageError(damage),
    },
  )
}

function nextHeader(examination: Examination, settings: LogSettings): FileHeader {
  const { end, damage, highestLsn, starts } = examination
  const { restored, clock } = settings
  const isGap = damage !== undefined || restored !== undefined
  const asked = typeof restored === 'object' ? restored.nextLsn : undefined
  if (asked !== undefined && asked <= highestLsn) {
    throw new WalError(
      'WAL_BAD_OPTION',
      `the log cannot continue at LSN ${asked}, because every LSN up to ${highestLsn} may have been issued`,
      { remedy: 'Choose a higher LSN in options.restored' },
    )
  }
  const nowMs = clock.now()
  const gap: GapReason = damage !== undefined ? 'accepted-loss' : isGap ? 'restored' : 'none'
  return {
    kind: 'segment',
    logId: examination.logId ?? settings.newLogId(),
    sequence: examination.highestSequence + 1,
    epoch: examination.highestEpoch + 1,
    firstLsn: isGap ? (asked ?? firstLsnBehindGap(examination, nowMs)) : end.lastLsn + 1,
    clockMs: Math.max(nowMs, examination.latestClockMs),
    segmentBytes: settings.firstSegmentBytes,
    firstBatch: examination.nextBatch,
    previous:
      examination.segments.length === 0 && examination.checkpoint === undefined ? beginning : end,
    gap,
    starts,
  }
}

/** Takes over the spare and the reserve of an earlier epoch. */
async function adoptSpareAndReserve(
  layout: Layout,
  { disk, firstSegmentBytes: bytes }: LogSettings,
  { epoch }: FileHeader,
) {
  const adopt = (isOfKind: (name: string) => boolean, path: string) =>
    adoptZeroFile(disk, layout.segments, isOfKind, { path, bytes })
  return {
    spare: await adopt(isSpareName, layout.spare(epoch)),
    reserve: await adopt(isReserveName, layout.reserve(epoch)),
  }
}

/** The epoch's first segment: a new file, or on a full disk the kept one. */
async function makeFirst(
  layout: Layout,
  { disk, firstSegmentBytes: bytes }: LogSettings,
  { firstLsn, epoch }: FileHeader,
  kept: ZeroFile | undefined,
): Promise<ZeroFile> {
  const path = layout.segment(segmentName(firstLsn, epoch)) + temporarySuffix
  try {
    await makeZeroFile(disk, { path, bytes })
    return { path, bytes }
  } catch (error) {
    if (!saysNoSpace(error)) throw error
    await removeIfPresent(disk, path)
    if (kept === undefined) throw error
    return kept
  }
}

/**
 * Rewrites the valid part byte for byte and syncs it. After a failed write-back, the page cache may
 * contain data that is not on the medium and that no later sync would write.
 */
async function rewrite(disk: Disk, layout: Layout, name: string, end: number): Promise<void> {
  await withFile(disk, layout.segment(name), 'write', async (file) => {
    const window = new Uint8Array(Math.min(end, readWindowBytes))
    for (let at = 0; at < end; at += window.length) {
      const bytes = await readFully(file, window.subarray(0, Math.min(window.length, end - at)), at)
      await writeFully(file, bytes, at)
    }
    await file.sync()
  })
}

/** The part that a checkpoint covers is not read, so it may be damaged without effect. */
function isCovered({ checkpoint, end }: Examination): boolean {
  return checkpoint !== undefined && checkpoint.previous.lastLsn >= end.lastLsn
}

/**
 * Checks that the rewritten part still reads as it did. If it was only in memory and was dropped
 * meanwhile, the next segment must not record that it exists.
 */
async function refuseChange(
  disk: Disk,
  layout: Layout,
  { name, header }: Segment,
  found: SegmentEnd,
): Promise<void> {
  const end = await withFile(disk, layout.segment(name), 'read', async (file) => {
    const scanner = new Scanner(file, await file.size(), header)
    while (scanner.end.offset < found.offset && (await scanner.next()) !== undefined) {}
    if (scanner.finding?.kind === 'read-error') throw scanner.finding.cause
    return scanner.end
  })
  if (end.offset === found.offset && end.chain === found.chain) return
  throw new WalError(
    'WAL_FAILED',
    `${layout.segment(name)} lost records while the log was opened: it ended at LSN ${found.lastLsn}, and now ends ` +
      `at LSN ${end.lastLsn}, because the end was only in memory and never reached the disk`,
    { remedy: 'Check the disk, and open the log again' },
  )
}

/**
 * Copies everything after the end to the quarantine and returns its size. Unreadable sectors are
 * copied as zeros.
 */
async function quarantineTail(
  disk: Disk,
  layout: Layout,
  name: string,
  end: number,
): Promise<number> {
  const temporary = `${layout.quarantine}/${name}${temporarySuffix}`
  await disk.createDirectory(layout.quarantine)
  await removeIfPresent(disk, temporary)
  const length = await withFile(disk, layout.segment(name), 'read', async (from) => {
    const size = await from.size()
    return withFile(disk, temporary, 'create', async (to) => {
      let contentEnd = end
      for (let at = end; at < size; at += readWindowBytes) {
        const bytes = await salvage(from, Math.min(readWindowBytes, size - at), at)
        if (isZero(bytes)) continue
        await writeFully(to, bytes, at - end)
        contentEnd = at + endOfContent(bytes)
      }
      await to.sync()
      return contentEnd - end
    })
  })
  if (length === 0) await removeIfPresent(disk, temporary)
  else await disk.rename(temporary, await quarantinePath(disk, layout, `${name}.${end}.tail`))
  await disk.syncDirectory(layout.quarantine)
  return length
}

async function moveToQuarantine(disk: Disk, layout: Layout, name: string): Promise<void> {
  const target = await quarantinePath(disk, layout, name)
  await disk.rename(layout.segment(name), target)
  await disk.syncDirectory(layout.quarantine)
  await disk.syncDirectory(layout.segments)
}

/** A path that is not used in the quarantine yet. Kept files are never overwritten. */
async function quarantinePath(disk: Disk, layout: Layout, name: string): Promise<string> {
  await disk.createDirectory(layout.quarantine)
  const taken = new Set(await listIfPresent(disk, layout.quarantine))
  let free = name
  for (let copy = 2; taken.has(free); copy++) free = `${name}.${copy}`
  return `${layout.quarantine}/${free}`
}
