import { apply, position, type State, StateDecoder, skipTo } from '@tenure/state-machine'
import { HistoryError } from '../errors.js'
import { decodeAt } from './entry.js'
import type { LogSource, LsnRange, RecordRange } from './log-source.js'
import { isWithin, type Position } from './position.js'

export interface ReplayOptions {
  /** Where to stop. Default: the end. */
  readonly until?: Position | undefined
  /** Called with the number of records applied so far. */
  readonly onProgress?: (applied: number) => void
  /** See `createState`. */
  readonly hashKey?: number
}

/** The part of a log that a replay needs. */
export type Replayable = Pick<LogSource, 'gaps' | 'replay'>

/**
 * 000 §6: applies the records after the state's last one, each with all preconditions, and stops at
 * `until`. Only declared gaps may be missing. Records after `until` need not be readable, because
 * they may still be written.
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

/** Whether no more record can lie before `until`. For a time, there may always be another one. */
function isReached(until: Position | undefined, state: State, gaps: readonly LsnRange[]): boolean {
  return until !== undefined && 'lsn' in until && firstBehind(state, gaps) > until.lsn
}

/**
 * The first LSN to replay. After an accepted loss that left only a checkpoint, the first record
 * follows a gap.
 */
function firstBehind(state: State, gaps: readonly LsnRange[]): number {
  return behindGap(gaps, position(state).lastLsn + 1)
}

/** The first LSN from here on that is not in a declared gap. */
export function behindGap(gaps: readonly LsnRange[], lsn: number): number {
  const gap = gaps.find(({ firstLsn, lastLsn }) => firstLsn <= lsn && lastLsn >= lsn)
  return gap === undefined ? lsn : gap.lastLsn + 1
}

/** Whether no record was removed from the beginning, although all may have been given up. */
export function hasBeginning({ firstLsn, gaps }: Pick<LogSource, 'firstLsn' | 'gaps'>): boolean {
  return firstLsn <= behindGap(gaps, 1)
}

/** Returns how many records were applied: all of them, or those up to `until`. */
function applyRun(
  state: State,
  gaps: readonly LsnRange[],
  { firstLsn, records }: RecordRange,
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

/** Skips declared gaps up to `nextLsn`. Any other missing LSN is an error. */
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
        `LSN ${lastLsn + 1} to ${nextLsn - 1} are missing, and the log declares no gap for them`,
      )
    }
    skipTo(state, Math.min(gap.lastLsn + 1, nextLsn))
  }
}

/** Skips the declared gaps up to an LSN. */
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

/** The state of a checkpoint. */
export async function readState(
  chunks: AsyncIterable<Uint8Array>,
  hashKey?: number,
): Promise<State> {
  const decoder = new StateDecoder({ hashKey })
  for await (const chunk of chunks) decoder.add(chunk)
  return decoder.finish()
}
