import type { Damage, HistoryDamage } from '../damage.js'
import type { DecodedFileHeader } from '../format/file-header.js'
import type { Head } from '../format/head.js'
import { segmentPath } from '../format/layout.js'
import type { Lsn } from '../lsn.js'

/**
 * Which segment follows which, by their names and headers alone: every header pins the segment
 * before it, and `HEAD` names the newest.
 */
export interface Found {
  readonly name: string
  readonly header: DecodedFileHeader
  readonly fileBytes: number
}

/** A segment of which only its name is known, and what that says. */
export interface Unreadable {
  readonly name: string
  readonly firstLsn: Lsn
  readonly epoch: number
  readonly why: string
}

/** What is wrong behind the trusted run, found by its names and headers alone. */
export type Beyond = Pick<Damage, 'file' | 'why' | 'lastMissingLsn'>

/** The segments that follow one another from the newest start that nothing is missing before. */
export function trustedRun(present: readonly Found[], coveredLsn: Lsn): Found[] {
  const sequences = new Set(present.map((segment) => segment.header.sequence))
  const isStart = ({ header: { previous } }: Found) =>
    previous.sequence === 0 || (!sequences.has(previous.sequence) && previous.lastLsn <= coveredLsn)
  let next = present.findLast(isStart)
  const run: Found[] = []
  while (next !== undefined) {
    run.push(next)
    const { sequence } = next.header
    // Numbers only grow: headers that lead back to one another would be followed for ever.
    const followers = present.filter(
      ({ header }) => header.previous.sequence === sequence && header.sequence > sequence,
    )
    // Behind an accepted loss the log goes on elsewhere; what followed before is cut off.
    next = followers.findLast((it) => it.header.gap === 'accepted-loss') ?? followers.at(-1)
  }
  return run
}

/** Whether everything that should follow the run is there, and nothing else. */
export function findBeyond(
  run: readonly Found[],
  present: readonly Found[],
  unreadable: readonly Unreadable[],
): Beyond | undefined {
  const last = run.at(-1)
  const lastSequence = last?.header.sequence ?? 0
  const stranded = present.find((it) => !run.includes(it) && it.header.sequence > lastSequence)
  const lastMissingLsn =
    stranded === undefined ? {} : { lastMissingLsn: stranded.header.firstLsn - 1 }
  const damaged = unreadable.find((it) => !run.some(({ header }) => cutsOffUnreadable(header, it)))
  if (damaged !== undefined) {
    return { file: segmentPath(damaged.name), why: damaged.why, ...lastMissingLsn }
  }
  if (stranded !== undefined) {
    const missing = stranded.header.previous.sequence
    return {
      file: segmentPath(stranded.name),
      why: `segment ${missing}, which it continues, is missing`,
      ...lastMissingLsn,
    }
  }
  const twin = present.find(
    (it) =>
      !run.includes(it) &&
      it.header.sequence >= (run[0]?.header.sequence ?? 0) &&
      !run.some(({ header }) => supersedes(header, it.header)),
  )
  if (twin !== undefined) {
    return {
      file: segmentPath(twin.name),
      why:
        `two histories: epoch ${twin.header.epoch} wrote it beside the segment that the log goes on with. ` +
        'Two writers must have been at work at once',
    }
  }
  return undefined
}

/**
 * Whether a segment whose header cannot be read lies in what a checkpoint covers, by its name: the run
 * begins after it, and only a covered run begins after anything.
 */
export function precedesRun([first]: readonly Found[], { firstLsn, epoch }: Unreadable): boolean {
  if (first === undefined) return false
  return firstLsn <= first.header.previous.lastLsn && epoch <= first.header.epoch
}

/**
 * Records before the run that are lost. A truncation removes none after the older of the two newest
 * checkpoints, and where a segment's file is there, its records must be.
 */
export function findHole(
  [first]: readonly Found[],
  olderCheckpoint: Lsn | undefined,
  unlinked: readonly Unreadable[],
): Pick<HistoryDamage, 'file' | 'why' | 'firstMissingLsn' | 'lastMissingLsn'> | undefined {
  if (first === undefined) return undefined
  const { lastLsn: lastMissingLsn, sequence } = first.header.previous
  const missing = unlinked.map(({ firstLsn }) => firstLsn)
  if (olderCheckpoint !== undefined) missing.push(olderCheckpoint + 1)
  const firstMissingLsn = Math.min(...missing)
  if (firstMissingLsn > lastMissingLsn) return undefined
  const [unreadable] = unlinked
  const what =
    unreadable === undefined
      ? { name: first.name, why: `segment ${sequence}, which it continues, is missing` }
      : unreadable
  return { file: segmentPath(what.name), why: what.why, firstMissingLsn, lastMissingLsn }
}

/** Whether `HEAD` agrees with the newest segment there is; `isLog` says whether it should exist. */
export function compareHead(
  head: Head | string | undefined,
  lastSequence: number,
  isLog: boolean,
): Beyond | undefined {
  const file = 'HEAD'
  const doubt = 'so nothing tells whether newer segments are missing'
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
        'HEAD is an older copy, or two writers were at work at once',
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

/** The same of a segment whose header cannot be read, as far as its name tells. */
export function cutsOffUnreadable(header: DecodedFileHeader, named: Unreadable): boolean {
  return (
    header.gap === 'accepted-loss' &&
    named.epoch < header.epoch &&
    named.firstLsn > header.previous.lastLsn
  )
}
