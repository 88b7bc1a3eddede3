import { checkInvariants, hashState, position, type State } from '@tenure/state-machine'
import { HistoryError } from '../errors.js'
import { entriesOf } from '../follow/entry.js'
import type { LogSource } from '../follow/log-source.js'
import { beginning, behindGap, hasBeginning, readState, replayOnto } from '../follow/replay.js'
import { omitUndefined } from '../omit-undefined.js'

/** What replaying a whole log has shown. */
export interface HistoryVerification {
  /** Records that were applied under every precondition. */
  readonly applied: number
  /** Records before the first state that is left: they can be read, and nothing to hold them against is there. */
  readonly onlyRead: number
  /** The LSN of the state that the replay began with; 0 is the beginning. */
  readonly beganAt: number
  /** How far it came. */
  readonly lastLsn: number
  readonly lastAt: number
  /** Of the state there. */
  readonly stateHash: string
  readonly checkpoints: readonly CheckedCheckpoint[]
  /** What stopped it: a record that breaks a rule or is none, a state that is broken, or a log that breaks off. */
  readonly fault?: Error
}

export interface CheckedCheckpoint {
  readonly lsn: number
  /** `not-compared`: nothing older is left that it could be made from once more. */
  readonly verdict: 'equal' | 'different' | 'unreadable' | 'not-compared'
  readonly why?: string
}

export interface VerifyHistoryOptions {
  /** Told how far it is. */
  readonly onProgress?: (lsn: number) => void
}

/**
 * Reads every record, applies it under every precondition, and compares each checkpoint with the
 * replay. Throws nothing of what it finds, except that records may be removed while it reads.
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
  #state: State = beginning()
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

  /** The beginning, or where that was removed the oldest state that is left. */
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
      `the records before LSN ${firstLsn} were removed, and no checkpoint is left that holds what they made`,
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
      // The records were given up, and what they made is what the log goes on from.
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

  /** One that a writer has removed meanwhile is none. */
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
    : 'the records before it make another state'
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

/** That records were removed meanwhile says nothing about the log: whoever looks opens it again. */
function isFinding(error: unknown): error is Error {
  const code = codeOf(error) ?? ''
  return /^(STATE|HISTORY|WAL)_/.test(code) && code !== 'WAL_FORGOTTEN'
}

function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}
