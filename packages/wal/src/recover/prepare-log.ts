import type { Disk } from '../disk/disk.js'
import {
  listIfPresent,
  readFully,
  removeIfPresent,
  sizeOfFile,
  withFile,
  writeFully,
} from '../disk/files.js'
import { saysNoSpace, systemCode, WalDamageError, WalError } from '../errors.js'
import { alignDown, bytesEqual, endOfContent, isZero } from '../format/bytes.js'
import {
  beginning,
  type FileHeader,
  type GapReason,
  type SegmentEnd,
} from '../format/file-header.js'
import { HeadFile } from '../format/head.js'
import { isReserveName, type Layout, segmentName, temporarySuffix } from '../format/layout.js'
import { readWindowBytes, sectorBytes, stampBytes } from '../format/limits.js'
import { Stamps } from '../format/stamps.js'
import type { LogSettings } from '../options.js'
import { Scanner, sectorsIn } from '../scan/scanner.js'
import {
  beginSegment,
  type PreparedFile,
  prepareSegmentFile,
  type ReservedFile,
  type SegmentFile,
} from '../write/segment-file.js'
import { SparePool } from '../write/spare-pool.js'
import { makeZeroFile } from '../write/zero-file.js'
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
  /** Files that were left by an earlier epoch and now belong to this one. */
  readonly pool: SparePool
  readonly hasReserve: boolean
}

/**
 * A change of the log to which the directory belongs. `detach`: a copy of a shared log becomes a
 * log of its own. `attach`: a log of its own becomes the beginning of a shared log.
 */
export type IdentityChange = 'detach' | 'attach'

/** Recovers the log and creates this epoch's first segment. The caller holds the lock. */
export async function prepareLog(
  layout: Layout,
  settings: LogSettings,
  change?: IdentityChange,
): Promise<PreparedLog> {
  const { disk } = settings
  const examination = await examineAlone(disk, layout)
  refuseOtherIdentity(layout, examination, settings, change)
  const { damage, end, segments } = examination
  refuseDamage(examination, settings)

  for (const path of examination.leftovers) await removeIfPresent(disk, path)
  for (const name of examination.unfinished) await removeIfPresent(disk, layout.segment(name))
  await disk.createDirectory(layout.segments)
  const header = nextHeader(examination, settings)
  const { epoch } = header
  const pool = await SparePool.open(disk, layout, { epoch, bytesMin: settings.firstSegmentBytes })
  const reserve = await adoptReserve(layout, settings, epoch)
  // Before anything else is written: the disk may have space for nothing else. Prefer a spare to
  // the reserve, because a roll may use whichever is left.
  const { reserved, isReserve } = await reserveFirst(layout, settings, header, pool, reserve)

  let quarantinedBytes = 0
  const last = segments.at(-1)
  if (last !== undefined) {
    const isCut = examination.torn !== undefined || damage !== undefined
    if (isCut) quarantinedBytes = await quarantineTail(disk, layout, last, end.offset)
    await rewrite(disk, layout, last.name, end.offset)
    if (!isCovered(examination)) await refuseChange(disk, layout, last, end)
  }
  const mode = settings.sync === 'always' ? 'durable' : 'write'
  const headFile = await HeadFile.open(disk, layout)
  let prepared: PreparedFile | undefined
  let segment: SegmentFile
  try {
    await headFile.refuseIfChanged(examination.head)
    prepared = await prepareSegmentFile(disk, layout, reserved, header, mode)
    const own = { ...header, segmentBytes: reserved.bytes }
    segment = await beginSegment(prepared, own, headFile, mode)
    // From here on the new segment records what is cut off. Moving it to the quarantine only tidies
    // up.
    const cutOff = [
      ...examination.superseded,
      ...(damage === undefined ? [] : examination.afterEnd),
    ]
    for (const name of cutOff) await moveToQuarantine(disk, layout, name)
  } catch (error) {
    await prepared?.file.close()
    await headFile.close()
    throw error
  }
  return {
    examination,
    segment,
    headFile,
    quarantinedBytes,
    pool,
    hasReserve: reserve !== undefined && !isReserve,
  }
}

/** Examines the log for an open. A file that disappears meanwhile was another writer's. */
async function examineAlone(disk: Disk, layout: Layout): Promise<Examination> {
  try {
    return await examine(disk, layout, 'recovery')
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error
    const problem = `another process changed ${layout.root} while this process opened the log`
    const remedy = 'Stop one of the two processes, and open the log again'
    throw new WalError('WAL_FENCED', problem, { remedy, cause: error })
  }
}

/** Rejects a copy that is opened as a log of its own, and what is not a copy of the given log. */
function refuseOtherIdentity(
  { root }: Layout,
  { fresh, era, logId }: Examination,
  { copyOf }: LogSettings,
  change: IdentityChange | undefined,
): void {
  if (fresh) return
  if (change === 'detach' ? era === 0 : copyOf === undefined && era !== 0) {
    throw change === 'detach'
      ? new WalError(
          'WAL_NOT_THIS_COPY',
          `${root} is a log of its own, not a copy of a shared log`,
          {
            remedy: 'Open it with openLog, without detachCopy',
          },
        )
      : new WalError('WAL_COPY_OF_SHARED_LOG', `${root} is a copy of a shared log`, {
          remedy: 'Open it with options.copyOf, or make it a log of its own with detachCopy',
        })
  }
  if (copyOf === undefined) return
  const expectedEra = change === 'attach' ? 0 : copyOf.era
  if (era === expectedEra && logId !== undefined && bytesEqual(logId, copyOf.logId)) return
  const wanted = `log ${hexOf(copyOf.logId)}, era ${copyOf.era}`
  const found = era === 0 ? `its own log ${hexOf(logId)}` : `log ${hexOf(logId)}, era ${era}`
  throw new WalError('WAL_NOT_THIS_COPY', `${root} should copy ${wanted}, but holds ${found}`, {
    remedy: 'Choose another directory, or remove this one and copy the shared log anew',
  })
}

function hexOf(logId: Uint8Array | undefined): string {
  return Buffer.from(logId ?? []).toString('hex')
}

function sharedEpochAt({ segments, checkpoint }: Examination): number {
  return (segments.at(-1)?.header ?? checkpoint)?.sharedEpoch ?? 0
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
    logId: examination.logId ?? settings.copyOf?.logId ?? settings.newLogId(),
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
    era: settings.copyOf?.era ?? 0,
    sharedEpoch: settings.copyOf === undefined ? 0 : sharedEpochAt(examination),
  }
}

/** Takes over the reserve of an earlier epoch, if it is large enough. Removes others. */
async function adoptReserve(
  layout: Layout,
  { disk, firstSegmentBytes }: LogSettings,
  epoch: number,
): Promise<ReservedFile | undefined> {
  const path = layout.reserve(epoch)
  let found: ReservedFile | undefined
  for (const name of (await listIfPresent(disk, layout.segments)).filter(isReserveName)) {
    const one = layout.segment(name)
    const bytes = found === undefined ? await sizeOfFile(disk, one) : 0
    if (bytes < firstSegmentBytes) await disk.remove(one)
    else {
      if (one !== path) await disk.rename(one, path)
      found = { path, bytes }
    }
  }
  return found
}

/** The space of the epoch's first segment: a new file, or on a full disk one that was kept. */
async function reserveFirst(
  layout: Layout,
  { disk, firstSegmentBytes: bytes }: LogSettings,
  { sequence, epoch }: FileHeader,
  pool: SparePool,
  reserve: ReservedFile | undefined,
): Promise<{ readonly reserved: ReservedFile; readonly isReserve: boolean }> {
  const path = layout.segment(segmentName(sequence, epoch)) + temporarySuffix
  try {
    await makeZeroFile(disk, { path, bytes })
    return { reserved: { path, bytes }, isReserve: false }
  } catch (error) {
    if (!saysNoSpace(error)) throw error
    await removeIfPresent(disk, path)
    const spare = pool.take(bytes)
    if (spare !== undefined) return { reserved: spare, isReserve: false }
    if (reserve === undefined) throw error
    return { reserved: reserve, isReserve: true }
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
 * Copies what was written after the end to the quarantine and returns its size. Unreadable sectors,
 * and those of an earlier life of the file, are copied as zeros.
 */
async function quarantineTail(
  disk: Disk,
  layout: Layout,
  { name, header }: Segment,
  end: number,
): Promise<number> {
  const temporary = `${layout.quarantine}/${name}${temporarySuffix}`
  const stamps = new Stamps(header.logId, header.crc)
  await disk.createDirectory(layout.quarantine)
  await removeIfPresent(disk, temporary)
  const length = await withFile(disk, layout.segment(name), 'read', async (from) => {
    const size = await from.size()
    return withFile(disk, temporary, 'create', async (to) => {
      let contentEnd = end
      let at = end
      while (at < size) {
        const next = Math.min(size, alignDown(at, sectorBytes) + readWindowBytes)
        const bytes = await salvage(from, next - at, at)
        for (const { sector, offset } of sectorsIn(bytes, at)) {
          const isEmpty = isZero(sector.subarray(0, -stampBytes))
          if (isEmpty || stamps.stateOf(sector, offset) === 'unwritten') sector.fill(0)
        }
        if (!isZero(bytes)) {
          await writeFully(to, bytes, at - end)
          contentEnd = at + endOfContent(bytes)
        }
        at = next
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
