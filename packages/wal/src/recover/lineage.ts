import type { Damage, HistoryDamage } from '../damage.js'
import type { DecodedFileHeader, FileHeader } from '../format/file-header.js'
import type { Head } from '../format/head.js'
import { segmentPath } from '../format/layout.js'
import type { Lsn } from '../lsn.js'

/**
 * Orders the segments by names and headers alone. Every header names the previous segment, and
 * `HEAD` names the newest.
 */
export interface Found {
  readonly name: string
  readonly header: DecodedFileHeader
  readonly fileBytes: number
}

/** A file of a segment that has not begun, and what its name says. */
export interface Prepared {
  readonly name: string
  readonly sequence: number
  readonly epoch: number
}

/** A segment with an unreadable header, and what its name says. */
export interface Unreadable extends Prepared {
  readonly why: string
  /** Absent if its first batch is unreadable, too. */
  readonly firstLsn?: Lsn | undefined
}

/** A fault in the order of the files, found by names and headers alone. */
export type LineageFault = Pick<Damage, 'file' | 'why' | 'lastMissingLsn'>

/**
 * The linked segments, from the newest possible start to the end. A start is the first segment of
 * the log, or one whose missing predecessors a checkpoint covers.
 */
export function trustedSegments(present: readonly Found[], coveredLsn: Lsn): Found[] {
  const sequences = new Set(present.map((segment) => segment.header.sequence))
  const isStart = ({ header: { previous } }: Found) =>
    previous.sequence === 0 || (!sequences.has(previous.sequence) && previous.lastLsn <= coveredLsn)
  let next = present.findLast(isStart)
  const linked: Found[] = []
  while (next !== undefined) {
    linked.push(next)
    const { sequence } = next.header
    // Sequences must increase, or damaged headers that point at each other would loop forever.
    const followers = present.filter(
      ({ header }) => header.previous.sequence === sequence && header.sequence > sequence,
    )
    // After an accepted loss the log continues in another segment; the earlier followers are cut
    // off.
    next = followers.findLast((it) => it.header.gap === 'accepted-loss') ?? followers.at(-1)
  }
  return linked
}

/** Checks that every segment after the trusted ones is accounted for. */
export function findLineageFault(
  linked: readonly Found[],
  present: readonly Found[],
  unreadable: readonly Unreadable[],
): LineageFault | undefined {
  const last = linked.at(-1)
  const lastSequence = last?.header.sequence ?? 0
  const later = present.find((it) => !linked.includes(it) && it.header.sequence > lastSequence)
  const lastMissingLsn = later === undefined ? {} : { lastMissingLsn: later.header.firstLsn - 1 }
  const damaged = unreadable.find(
    (it) => !linked.some(({ header }) => cutsOffUnreadable(header, it)),
  )
  if (damaged !== undefined) {
    return { file: segmentPath(damaged.name), why: damaged.why, ...lastMissingLsn }
  }
  if (later !== undefined) {
    const missing = later.header.previous.sequence
    return {
      file: segmentPath(later.name),
      why: `segment ${missing}, which precedes it, is missing`,
      ...lastMissingLsn,
    }
  }
  const twin = present.find(
    (it) =>
      !linked.includes(it) &&
      it.header.sequence >= (linked[0]?.header.sequence ?? 0) &&
      !linked.some(({ header }) => supersedes(header, it.header)),
  )
  if (twin !== undefined) {
    return {
      file: segmentPath(twin.name),
      why:
        `two histories: epoch ${twin.header.epoch} wrote it in parallel to the segment with which the log continues. ` +
        'Two writers must have been active concurrently',
    }
  }
  return undefined
}

/**
 * Whether a segment with an unreadable header lies in the covered part, judging by its name. The
 * trusted segments start after it, which is possible only if a checkpoint covers it.
 */
export function precedesTrusted([first]: readonly Found[], { sequence }: Unreadable): boolean {
  return first !== undefined && sequence < first.header.sequence
}

/**
 * Missing records before the trusted segments. Truncation never removes records after the older of
 * the two newest checkpoints. And where a segment's file exists, its records must, too.
 */
export function findHole(
  [first]: readonly Found[],
  olderCheckpoint: Lsn | undefined,
  unlinked: readonly Unreadable[],
): Pick<HistoryDamage, 'file' | 'why' | 'firstMissingLsn' | 'lastMissingLsn'> | undefined {
  if (first === undefined) return undefined
  const { lastLsn: lastMissingLsn, sequence } = first.header.previous
  const missing = unlinked.map(({ firstLsn }) => firstLsn ?? lastMissingLsn)
  if (olderCheckpoint !== undefined) missing.push(olderCheckpoint + 1)
  const firstMissingLsn = Math.min(...missing)
  if (firstMissingLsn > lastMissingLsn) return undefined
  const [unreadable] = unlinked
  const what =
    unreadable === undefined
      ? { name: first.name, why: `segment ${sequence}, which precedes it, is missing` }
      : unreadable
  return { file: segmentPath(what.name), why: what.why, firstMissingLsn, lastMissingLsn }
}

/** Compares `HEAD` with the newest segment. `isLog` says whether `HEAD` must exist. */
export function compareHead(
  head: Head | string | undefined,
  last: FileHeader | undefined,
  isLog: boolean,
): LineageFault | undefined {
  const lastSequence = last?.sequence ?? 0
  const file = 'HEAD'
  const doubt = 'so newer segments may be missing without notice'
  if (typeof head === 'string') return { file, why: `${head}, ${doubt}` }
  if (head === undefined) {
    return isLog ? { file, why: `it is missing, ${doubt}` } : undefined
  }
  if (lastSequence < head.sequence) {
    return { file, why: `it names segment ${head.sequence}, which is missing` }
  }
  if (lastSequence > head.sequence) {
    return {
      file,
      why:
        `it names segment ${head.sequence}, but segment ${lastSequence} holds records: ` +
        'HEAD is an older copy, or two writers were active concurrently',
    }
  }
  if (last !== undefined && last.epoch !== head.epoch) {
    return {
      file,
      why:
        `it names segment ${head.sequence} of epoch ${head.epoch}, but epoch ${last.epoch} wrote that segment: ` +
        'two writers were active concurrently',
    }
  }
  return undefined
}

/** Whether an accepted loss cut the segment off. */
export function supersedes(header: DecodedFileHeader, other: DecodedFileHeader): boolean {
  return (
    header.gap === 'accepted-loss' &&
    header.previous.sequence < other.sequence &&
    other.sequence < header.sequence
  )
}

/** Whether an accepted loss cut off a segment with an unreadable header, judging by its name. */
export function cutsOffUnreadable(header: DecodedFileHeader, named: Unreadable): boolean {
  return (
    header.gap === 'accepted-loss' &&
    header.previous.sequence < named.sequence &&
    named.sequence < header.sequence
  )
}
