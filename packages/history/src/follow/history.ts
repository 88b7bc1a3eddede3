import { createState, position, type State } from '@tenure/state-machine'
import { openReadOnly, WalError } from '@tenure/wal'
import { HistoryError } from '../errors.js'
import { decodeAt, type Entry, entriesOf } from './entry.js'
import type { LogSource, LsnRange, Opening } from './log-source.js'
import { isWithin, type Position } from './position.js'
import { hasBeginning, passGaps, type ReplayOptions, readState, replayOnto } from './replay.js'

/** The part to read: from an LSN up to a moment. */
export interface Span {
  /** Default: the first remaining record. */
  readonly fromLsn?: number | undefined
  readonly until?: Position | undefined
}

/** Opens the log in a directory as history, with or without a running coordinator. Changes nothing. */
export async function openHistory(directory: string): Promise<History> {
  return new History(await openReadOnly(directory))
}

/** The records of a log, and the states that result from them. */
export class History {
  readonly #log: LogSource
  /** A coordinator has removed a checkpoint since the log was opened. */
  #isOvertaken = false

  constructor(log: LogSource) {
    this.#log = log
  }

  /** The first remaining record. Truncation removed earlier ones. */
  get firstLsn(): number {
    return this.#log.firstLsn
  }

  /** The opens of the log by coordinators. */
  get openings(): readonly Opening[] {
    return this.#log.openings
  }

  /** LSNs that the log declares as never issued, or as given up. */
  get gaps(): readonly LsnRange[] {
    return this.#log.gaps
  }

  /** The LSNs of the checkpoints, newest first. */
  get checkpoints(): readonly number[] {
    return this.#log.checkpoints
  }

  /**
   * Every record of the span in order, in lists. A list is valid until the next step; use `keep` to
   * copy an entry.
   */
  async *read({ fromLsn = this.firstLsn, until }: Span = {}): AsyncGenerator<readonly Entry[]> {
    if (until !== undefined && 'lsn' in until && until.lsn < fromLsn) return
    for await (const run of this.#log.replay({ fromLsn })) {
      const entries: Entry[] = []
      for (const entry of entriesOf(run)) {
        if (!isWithin(until, entry.lsn, entry.record.at)) break
        entries.push(entry)
      }
      if (entries.length > 0) yield entries
      if (entries.length < run.records.length) return
      // Records after the end of the span need not be readable.
      if (until !== undefined && 'lsn' in until && (entries.at(-1)?.lsn ?? 0) >= until.lsn) return
    }
  }

  /** The place of the last record. For a log without records, that of its newest state, or LSN 0. */
  async end(): Promise<{ readonly lsn: number; readonly at: number }> {
    // The last record lies after the last open, unless that open wrote none. Records that a
    // checkpoint covers are not read here, because damage to them has no effect on a restart.
    const openings = this.openings.map(({ firstLsn }) => firstLsn).reverse()
    const covered = (this.checkpoints[0] ?? 0) + 1
    const starts = [...openings.filter((firstLsn) => firstLsn > covered), covered]
    for (const fromLsn of starts) {
      const last = await this.#lastBehind(Math.max(fromLsn, this.firstLsn))
      if (last !== undefined) return last
    }
    const { lastLsn: lsn, lastAt: at } = position(await this.stateAt())
    return { lsn, at }
  }

  /** The state at some moment, by default the last one. Replays from a checkpoint if possible. */
  async stateAt(options: ReplayOptions = {}): Promise<State> {
    const { until, hashKey } = options
    const state = (await this.#newestBefore(until, hashKey)) ?? this.#fromTheStart(until, hashKey)
    await replayOnto(state, this.#log, options)
    if (until !== undefined && 'lsn' in until) {
      passGaps(state, this.gaps, until.lsn)
      refuseFuture(position(state).lastLsn, until)
    }
    return state
  }

  /** The state of the oldest checkpoint: all that is left of the removed records. */
  async oldestState(): Promise<State | undefined> {
    for (const lsn of [...this.checkpoints].reverse()) {
      const state = await this.#tryCheckpoint(lsn)
      if (state !== undefined) return state
    }
    if (this.checkpoints.length === 0) return undefined
    // An error, because otherwise removed events would look as if they had never happened.
    throw this.#nothingLeft('the oldest checkpoint')
  }

  async #lastBehind(fromLsn: number) {
    let last: { readonly lsn: number; readonly at: number } | undefined
    for await (const { firstLsn, records } of this.#log.replay({ fromLsn })) {
      const lsn = firstLsn + records.length - 1
      const bytes = records.at(-1)
      if (bytes !== undefined) last = { lsn, at: decodeAt(lsn, bytes).at }
    }
    return last
  }

  async #newestBefore(
    until: Position | undefined,
    hashKey: number | undefined,
  ): Promise<State | undefined> {
    for (const lsn of this.checkpoints) {
      if (until !== undefined && 'lsn' in until && lsn > until.lsn) continue
      const state = await this.#tryCheckpoint(lsn, hashKey)
      if (state !== undefined && isWithin(until, lsn, position(state).lastAt)) return state
    }
    return undefined
  }

  /**
   * The state of a checkpoint, or `undefined` if it cannot be read or was removed, so that a replay
   * is needed.
   */
  async #tryCheckpoint(lsn: number, hashKey?: number): Promise<State | undefined> {
    try {
      return await readState(this.#log.readCheckpoint(lsn), hashKey)
    } catch (error) {
      const isRemoved = hasCode(error, 'ENOENT')
      if (!isRemoved && !hasCode(error, 'WAL_BAD_CHECKPOINT')) throw error
      this.#isOvertaken ||= isRemoved
      return undefined
    }
  }

  #fromTheStart(until: Position | undefined, hashKey: number | undefined): State {
    if (hasBeginning(this.#log)) return createState({ hashKey })
    throw this.#nothingLeft(until === undefined ? 'the end' : describe(until))
  }

  #nothingLeft(wanted: string): Error {
    const before = `before LSN ${this.firstLsn}`
    if (this.#isOvertaken) {
      const why = `the records ${before} and the checkpoints after them were removed while they were read`
      return new WalError('WAL_FORGOTTEN', why, { remedy: 'Open the history again' })
    }
    return new HistoryError(
      'HISTORY_REMOVED',
      `the state at ${wanted} is unknown: the records ${before} were removed, and no checkpoint before that moment is left`,
    )
  }
}

/** Rejects a moment after the end of the log. */
export function refuseFuture(lastLsn: number, until: Position | undefined): void {
  if (until === undefined || !('lsn' in until) || until.lsn <= lastLsn) return
  throw new HistoryError(
    'HISTORY_NOT_YET',
    `there is no LSN ${until.lsn}: the log ends at LSN ${lastLsn}`,
  )
}

function describe(until: Position): string {
  return 'lsn' in until ? `LSN ${until.lsn}` : new Date(until.at).toISOString()
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
