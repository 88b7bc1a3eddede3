import {
  apply,
  createState,
  position,
  type State,
  StateDecoder,
  skipTo,
} from '@tenure/state-machine'
import { HistoryError } from '../errors.js'
import { decodeAt } from './entry.js'
import type { LogSource, LsnRange, Run } from './log-source.js'
import { isWithin, type Position } from './position.js'

export interface ReplayOptions {
  /** Where to stop; without it the end. */
  readonly until?: Position | undefined
  /** Told after each run of records: how many were applied. */
  readonly onProgress?: (applied: number) => void
  /** See `createState`. */
  readonly hashKey?: number
}

/** What a replay needs of a log. */
export type Replayable = Pick<LogSource, 'gaps' | 'replay'>

/**
 * 000 §6: applies the records behind the state's last one, each under all its preconditions, and
 * leaves the state where `until` says. Records are missing only where the log declares it. What lies
 * behind `until` need not be readable: it may be being written.
 */
export async function replayOnto(
  state: State,
  log: Replayable,
  { until, onProgress }: Omit<ReplayOptions, 'hashKey'> = {},
): Promise<void> {
  if (isReached(until, state, log.gaps)) return
  let applied = 0
  for await (const run of log.replay({ fromLsn: firstBehind(state, log.gaps) })) {
    const count = applyRun(state, log.gaps, run, until)
    applied += count
    onProgress?.(applied)
    if (count < run.records.length || isReached(until, state, log.gaps)) return
  }
}

/** Whether no record is left up to there. At a time there may always be another one. */
function isReached(until: Position | undefined, state: State, gaps: readonly LsnRange[]): boolean {
  return until !== undefined && 'lsn' in until && firstBehind(state, gaps) > until.lsn
}

/** Where an accepted loss has left nothing behind a checkpoint, the first record stands behind the gap. */
function firstBehind(state: State, gaps: readonly LsnRange[]): number {
  return behindGap(gaps, position(state).lastLsn + 1)
}

/** The first LSN from here on that the log does not declare as never issued, or given up. */
export function behindGap(gaps: readonly LsnRange[], lsn: number): number {
  const gap = gaps.find(({ firstLsn, lastLsn }) => firstLsn <= lsn && lastLsn >= lsn)
  return gap === undefined ? lsn : gap.lastLsn + 1
}

/** Whether no record was removed from the beginning, though all may have been lost and given up. */
export function hasBeginning({ firstLsn, gaps }: Pick<LogSource, 'firstLsn' | 'gaps'>): boolean {
  return firstLsn <= behindGap(gaps, 1)
}

/** How many records of the run were applied: all of them, or those up to `until`. */
function applyRun(
  state: State,
  gaps: readonly LsnRange[],
  { firstLsn, records }: Run,
  until: Position | undefined,
): number {
  let lsn = firstLsn
  for (const bytes of records) {
    const record = decodeAt(lsn, bytes)
    if (!isWithin(until, lsn, record.at)) break
    skipGap(state, gaps, lsn)
    apply(state, lsn, record)
    lsn++
  }
  return lsn - firstLsn
}

/** LSNs are missing only where the log says that they were never issued, or are given up. */
export function skipGap(state: State, gaps: readonly LsnRange[], nextLsn: number): void {
  for (;;) {
    const { lastLsn } = position(state)
    if (nextLsn === lastLsn + 1) return
    const gap = gaps.find(
      ({ firstLsn, lastLsn: last }) => firstLsn <= lastLsn + 1 && last > lastLsn,
    )
    if (gap === undefined) {
      throw new HistoryError(
        'HISTORY_UNDECLARED_GAP',
        `the log goes on at LSN ${nextLsn} behind LSN ${lastLsn} and declares no gap there`,
      )
    }
    skipTo(state, Math.min(gap.lastLsn + 1, nextLsn))
  }
}

/** Goes on to an LSN for which there are no records because the log declares that there are none. */
export function passGaps(state: State, gaps: readonly LsnRange[], throughLsn: number): void {
  for (;;) {
    const { lastLsn } = position(state)
    const gap = gaps.find(
      ({ firstLsn, lastLsn: last }) => firstLsn <= lastLsn + 1 && last > lastLsn,
    )
    if (gap === undefined || lastLsn >= throughLsn) return
    skipTo(state, Math.min(gap.lastLsn, throughLsn) + 1)
  }
}

/** The state that a checkpoint holds. */
export async function readState(
  chunks: AsyncIterable<Uint8Array>,
  hashKey?: number,
): Promise<State> {
  const decoder = new StateDecoder(keyed(hashKey))
  for await (const chunk of chunks) decoder.add(chunk)
  return decoder.finish()
}

export function beginning(hashKey?: number): State {
  return createState(keyed(hashKey))
}

function keyed(hashKey: number | undefined) {
  return hashKey === undefined ? {} : { hashKey }
}
