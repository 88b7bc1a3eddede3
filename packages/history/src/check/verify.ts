import {
  checkInvariants,
  createState,
  hashState,
  position,
  type State,
} from '@tenure/state-machine'
import { HistoryError } from '../errors.js'
import { entriesOf } from '../follow/entry.js'
import type { LogSource } from '../follow/log-source.js'
import { behindGap, hasBeginning, readState, replayOnto } from '../follow/replay.js'
import { omitUndefined } from '../omit-undefined.js'

/** The result of replaying a whole log. */
export interface HistoryVerification {
  /** Records that were applied with all preconditions. */
  readonly applied: number
  /**
   * Records before the first remaining state. They were read but not applied, because there was no
   * state.
   */
  readonly onlyRead: number
  /** The LSN of the state from which the replay started; 0 is the beginning. */
  readonly beganAt: number
  /** The last LSN that was replayed. */
  readonly lastLsn: number
  readonly lastAt: number
  /** Hash of the state at `lastLsn`. */
  readonly stateHash: string
  readonly checkpoints: readonly CheckedCheckpoint[]
  /**
   * Why the replay stopped: a record that breaks a rule or cannot be decoded, a broken state, or a
   * log that ends too early.
   */
  readonly fault?: Error
}

export interface CheckedCheckpoint {
  readonly lsn: number
  /** `not-compared`: the log has no older state from which it could be computed. */
  readonly verdict: 'equal' | 'different' | 'unreadable' | 'not-compared'
  readonly why?: string
}

export interface VerifyHistoryOptions {
  /** Called with the LSN that was reached. */
  readonly onProgress?: (lsn: number) => void
}

/**
 * Reads every record, applies it with all preconditions, and compares each checkpoint with the
 * replay. Returns faults instead of throwing them. Throws only if records are removed during the
 * reading.
 */
export async function verifyHistory(
  log: LogSource,
  { onProgress = () => {} }: VerifyHistoryOptions = {},
): Promise<HistoryVerification> {
  return new HistoryVerifier(log, onProgress).run()
}

class HistoryVerifier {
  readonly #log: LogSource
  readonly #onProgress: (lsn: number) => void
  readonly #checkpoints: CheckedCheckpoint[] = []
  #state: State = createState()
  #beganAt = 0
  #applied = 0
  #onlyRead = 0

  constructor(log: LogSource, onProgress: (lsn: number) => void) {
    this.#log = log
    this.#onProgress = onProgress
  }

  async run(): Promise<HistoryVerification> {
    const fault = await faultOf(async () => {
      await this.#begin()
      const known = this.#checkpoints.map(({ lsn }) => lsn)
      const ascending = [...this.#log.checkpoints].reverse()
      for (const lsn of ascending) if (!known.includes(lsn)) await this.#compareAt(lsn)
      await this.#replay()
      checkInvariants(this.#state)
    })
    const { lastLsn, lastAt } = position(this.#state)
    return omitUndefined<HistoryVerification>({
      applied: this.#applied,
      onlyRead: this.#onlyRead,
      beganAt: this.#beganAt,
      lastLsn,
      lastAt,
      stateHash: hashState(this.#state),
      checkpoints: this.#checkpoints,
      fault,
    })
  }

  /** Starts at the beginning, or, if that was removed, with the oldest remaining state. */
  async #begin(): Promise<void> {
    const { firstLsn } = this.#log
    if (hasBeginning(this.#log)) return
    for (const lsn of [...this.#log.checkpoints].reverse()) {
      const state = await this.#readCheckpoint(lsn)
      if (state === undefined) continue
      this.#checkpoints.push({ lsn, verdict: 'not-compared' })
      this.#state = state
      this.#beganAt = lsn
      checkInvariants(state)
      await this.#readOnly(lsn)
      return
    }
    throw new HistoryError(
      'HISTORY_REMOVED',
      `the log cannot be checked: the records before LSN ${firstLsn} were removed, and no readable checkpoint replaces them`,
    )
  }

  async #readOnly(throughLsn: number): Promise<void> {
    const { firstLsn } = this.#log
    if (firstLsn > throughLsn) return
    for await (const run of this.#log.replay({ fromLsn: firstLsn })) {
      for (const { lsn } of entriesOf(run)) {
        if (lsn > throughLsn) return
        this.#onlyRead++
      }
    }
  }

  async #compareAt(lsn: number): Promise<void> {
    await this.#replay(lsn)
    const kept = await this.#readCheckpoint(lsn)
    if (kept === undefined) return
    const { lastLsn } = position(this.#state)
    if (lastLsn < lsn && behindGap(this.#log.gaps, lastLsn + 1) > lsn) {
      // The records were given up, so the log continues from the state of this checkpoint.
      this.#checkpoints.push({ lsn, verdict: 'not-compared' })
      this.#state = kept
      this.#beganAt = lsn
      return
    }
    const why = isSame(kept, this.#state) ? undefined : tellDifference(lastLsn, lsn)
    this.#checkpoints.push(
      why === undefined ? { lsn, verdict: 'equal' } : { lsn, verdict: 'different', why },
    )
  }

  /** A checkpoint that a writer has removed meanwhile does not count. */
  async #readCheckpoint(lsn: number): Promise<State | undefined> {
    try {
      return await readState(this.#log.readCheckpoint(lsn))
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined
      if (!isFinding(error)) throw error
      this.#checkpoints.push({ lsn, verdict: 'unreadable', why: error.message })
      return undefined
    }
  }

  async #replay(lsn?: number): Promise<void> {
    const before = this.#applied
    await replayOnto(this.#state, this.#log, {
      until: lsn === undefined ? undefined : { lsn },
      onProgress: (applied) => {
        this.#applied = before + applied
        this.#onProgress(position(this.#state).lastLsn)
      },
    })
  }
}

function tellDifference(lastLsn: number, lsn: number): string {
  return lastLsn < lsn
    ? `the records end at LSN ${lastLsn}`
    : 'replaying the records gives a different state'
}

function isSame(a: State, b: State): boolean {
  return position(a).lastLsn === position(b).lastLsn && hashState(a) === hashState(b)
}

async function faultOf(act: () => Promise<void>): Promise<Error | undefined> {
  try {
    await act()
    return undefined
  } catch (error) {
    if (isFinding(error)) return error
    throw error
  }
}

/** Removed records are not a fault of the log. The caller must open it again. */
function isFinding(error: unknown): error is Error {
  const code = codeOf(error) ?? ''
  return /^(STATE|HISTORY|WAL)_/.test(code) && code !== 'WAL_FORGOTTEN'
}

function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}
